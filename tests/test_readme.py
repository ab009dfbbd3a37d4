"""What the README lists is what there is."""

from __future__ import annotations

import re

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


def test_what_the_architecture_names_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+/[\w/.]*)`", text))
    assert len(named) > 20
    assert [
        name for name in sorted(named) if not any((root / name).exists() for root in (ROOT, ROOT / "harness"))
    ] == []
