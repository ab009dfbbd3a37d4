"""The documents as a site: short, whole, and every command in them exists."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from harness.cli.app import app
from tests.machine import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))
WRITTEN = [*PAGES, *(ROOT / f"{one}.md" for one in ("README", "SECURITY", "CONTRIBUTING"))]


def words(path: Path) -> int:
    """Count what is read: tables, but neither code nor the records that a benchmark writes into a page."""
    prose = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"<!-- ([\w ]+): generated -->.*?<!-- \1: end -->", "", prose, flags=re.DOTALL)
    return sum(re.search(r"[a-zA-Z]", word) is not None for word in prose.split())


def test_all_of_it_is_read_in_two_hours() -> None:
    assert sum(map(words, WRITTEN)) < 20_000


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_says_of_what_kind_it_is(path: Path) -> None:
    assert re.match(r"# .+\n\n\*(Tutorial|How-to|Reference|Explanation): ", path.read_text(encoding="utf-8"))


def commands(text: str) -> Iterator[list[str]]:
    """The arguments of every call of harness in the blocks of a page."""
    for block in re.findall(r"^ *```(?:bash|console|yaml|sh)$(.*?)^ *```$", text, re.MULTILINE | re.DOTALL):
        for line in re.sub(r"\\\n", " ", block).splitlines():
            for call in re.findall(r"(?:^|[\s;(])harness (?=[a-z-])(.+)", line):
                yield shlex.split(re.split(r" #| [|&;>]|\$\(", call)[0].replace("'\"'", ""), comments=True)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_commands_have_the_options_that_a_page_shows(path: Path) -> None:
    for arguments in commands(path.read_text(encoding="utf-8")):
        command: Any = typer.main.get_command(app)
        for argument in arguments:
            options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)} | {"--help", "-h"}
            if argument.startswith("-") and not re.match(r"-\d", argument):
                assert argument.partition("=")[0] in options, f"harness {' '.join(arguments)}"
            else:
                command = getattr(command, "commands", {}).get(argument, command)
        assert arguments[0][0] == "-" or not getattr(command, "commands", None), (
            f"harness {' '.join(arguments)}: no such command"
        )


@pytest.mark.skipif(importlib.util.find_spec("material") is None, reason="no mkdocs-material: ./dev docs installs it")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False)
    assert built.returncode == 0, built.stderr
    pages = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed = (tmp_path / "site/llms.txt").read_text(encoding="utf-8")
    assert len(re.findall(r"^- \[", listed, re.MULTILINE)) == sum(
        1 if isinstance(one, str) else len(one) for part in pages for one in part.values()
    )
    assert "--changed-since" in (tmp_path / "site/commands.html").read_text(encoding="utf-8")


@pytest.mark.sim
@pytest.mark.heavy
def test_the_tutorial_goes_as_it_says(tmp_path: Path) -> None:
    """Its commands in their order from an empty folder, but for the installation."""
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash$(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1:]
    program = tmp_path / "bin/harness"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m harness "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        ["bash", "-c", "".join(blocks)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    seen = [word for word in ("wrong_values", "shared-race", "gate passed: 3 solutions") if word in ended.stdout]
    assert seen == ["wrong_values", "shared-race", "gate passed: 3 solutions"]
