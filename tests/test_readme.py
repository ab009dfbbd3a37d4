"""What the README lists is what there is."""

from __future__ import annotations

import ast
import re

import pytest

from harness.model.verdict import Verdict
from tests.machine import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_verdict_is_explained_in_the_verdicts_own_words() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", README, re.MULTILINE))
    assert rows == {verdict.value: verdict.meaning for verdict in Verdict}


def test_commands_of_the_readme_exist() -> None:
    from harness.cli.app import app

    named = set(re.findall(r"^\| `harness ([\w-]+)", README, re.MULTILINE))
    assert named == {one.name for one in [*app.registered_commands, *app.registered_groups]}


def test_files_that_the_readme_links_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


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
