"""What the README and the documents list is what there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from harness.model.verdict import Verdict
from tests.machine import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").glob("*.md"))


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_readme_is_read_in_two_minutes() -> None:
    assert len(README.split()) <= 900


def test_every_verdict_is_explained_in_the_verdicts_own_words() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page("evaluation.md"), re.MULTILINE))
    assert rows == {verdict.value: verdict.meaning for verdict in Verdict}


def test_the_command_line_document_has_every_command() -> None:
    from harness.cli.app import app

    named = set(re.findall(r"^\| `harness ([\w-]+)", page("cli.md"), re.MULTILINE))
    assert named == {one.name for one in [*app.registered_commands, *app.registered_groups]}


def test_commands_in_the_readmes_blocks_exist() -> None:
    from harness.cli.app import app

    blocks = "".join(re.findall(r"^```bash$(.*?)^```$", README, re.MULTILINE | re.DOTALL))
    named = set(re.findall(r"\bharness ([a-z][\w-]+)", blocks))
    assert len(named) > 5
    assert named <= {str(one.name) for one in [*app.registered_commands, *app.registered_groups]}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_a_page_links_exists(path: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#([\w-]+))?\)", path.read_text(encoding="utf-8"))
    for file, anchor in links:
        if "://" in file:
            continue
        target = path.parent / file
        assert target.exists(), f"{path.name} links {file}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{path.name} links {file}#{anchor}"


def anchors(path: Path) -> set[str]:
    """The anchors that a page's headings have on GitHub."""
    heads = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_a_page_for_those_who_carry_on_names_exist(page: str) -> None:
    named = set(re.findall(r"`([a-z_]+/[\w/.]*)`", (ROOT / page).read_text(encoding="utf-8")))
    assert len(named) > 10
    assert [
        name for name in sorted(named) if not any((root / name).exists() for root in (ROOT, ROOT / "harness"))
    ] == []


def test_functions_on_the_way_of_a_job_exist() -> None:
    hops = re.findall(r"`([\w/]+\.py):([\w.]+)`", ARCHITECTURE)
    assert len(hops) > 15
    for file, function in hops:
        scope: ast.AST = ast.parse((ROOT / "harness" / file).read_text(encoding="utf-8"))
        for name in function.split("."):
            found = [node for node in ast.iter_child_nodes(scope) if getattr(node, "name", None) == name]
            assert found, f"{file} has no {function}"
            scope = found[0]
