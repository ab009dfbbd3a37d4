"""Files that can't be written and places that look empty, by bubblewrap, on a machine as one without Landlock."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.protocol.cell import Cell, Wing
from harness.protocol.layout import scratch_folder
from harness.referee.workers.environment import of_own_folder, scrubbed
from harness.referee.workers.folder import make_folder, remove_folder
from harness.worker.confinement.bubblewrap import INSIDE, options

CHILD = """
import ctypes, json, os, sys
from dataclasses import asdict
from pathlib import Path
from harness.protocol.cell import Cell
from harness.worker.confinement import bubblewrap, confine, landlock
from harness.worker.confinement.linux import Unavailable
def lacks(*arguments):
    raise Unavailable("not on this machine", "another machine")
landlock.version = landlock.restrict = lacks
cell, wing, own, others = sys.argv[1:]
bubble = bubblewrap.enter(wing)
parent = os.getppid() if bubble is True else None
confined = confine(Cell.from_argument(cell), os.open(os.devnull, os.O_RDONLY), parent, bubble)
def attempt(what):
    try:
        return repr(what())
    except OSError as error:
        return type(error).__name__
print(json.dumps({
    "confined": asdict(confined), "command": sys.argv[2],
    "own": attempt(lambda: (Path(own) / "made").write_text("x")),
    "write": attempt(lambda: (Path(others).parent / "made").write_text("x")),
    "fill": attempt(lambda: (Path(others) / "made").write_text("x")),
    "list": attempt(lambda: os.listdir(others)),
    "read": attempt(lambda: (Path(others) / "solution.py").read_text()),
    "key": attempt(lambda: Path("/etc/shadow").read_text()),
    "unmount": attempt(lambda: ctypes.CDLL(None).umount(others.encode())),
}))
"""
FAKE = """#!/bin/sh
{what}
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


@pytest.fixture
def workspace() -> Iterator[Path]:
    """Not in the temporary folder, which stays visible."""
    place = Path(os.path.realpath("/var/tmp")) / f"harness-test-{os.getpid()}"
    (place / "solutions").mkdir(parents=True)
    (place / "solutions" / "solution.py").write_text("secret")
    yield place
    shutil.rmtree(place)


def run(workspace: Path, path: str) -> dict[str, Any]:
    """What a child finds that has the programs of `path`."""
    folder = make_folder()
    hidden, home = (str(workspace / "solutions"),), str(workspace / "home")
    cell, wing = Cell(str(folder), hidden, home, os.getpid()), Wing(hidden, home, str(folder.parent))
    own = scratch_folder(folder) / "work"
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, cell.to_argument(), wing.to_argument(), str(own), hidden[0]],
            capture_output=True,
            env={**scrubbed(os.environ, ()), **of_own_folder(folder, "ab"), "PATH": path},
            cwd=Path(__file__).parents[2],
            timeout=60,
            check=False,
        )
    finally:
        remove_folder(folder)
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def program(folder: Path, what: str) -> str:
    """A PATH with a bwrap of that kind, and what is in the machine's own."""
    (folder / "bwrap").write_text(FAKE.format(what=what))
    (folder / "bwrap").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_nothing_outside_can_be_written_and_what_is_hidden_is_not_there(workspace: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap isn't installed")
    found = run(workspace, os.environ["PATH"])
    if "bubblewrap" not in found["confined"]["active"]:
        pytest.skip(str(found["confined"]["missing"]))
    assert found["own"] == "1"
    assert found["write"] == found["fill"] == "OSError"  # a file system that is read-only
    assert found["list"] == "[]"
    assert found["read"] == "FileNotFoundError"
    assert found["key"] in ("''", "PermissionError")
    assert found["unmount"] == "-1"
    assert not list(workspace.glob("made"))
    assert [path.name for path in (workspace / "solutions").iterdir()] == ["solution.py"]


def test_a_process_starts_itself_anew_inside(workspace: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    found = run(workspace, program(tmp_path, f'echo "$@" >> {told}'))
    assert "bubblewrap" in found["confined"]["active"]
    assert "read-only files" not in [one["name"] for one in found["confined"]["missing"]]
    assert found["command"] == INSIDE
    trial, start = told.read_text().splitlines()[0], told.read_text()
    assert trial.endswith("-- true")
    assert f"--tmpfs {workspace}/solutions" in trial
    assert start.count("--ro-bind / /") == 2


def test_a_bubblewrap_that_fails_is_told_and_done_without(workspace: Path, tmp_path: Path) -> None:
    found = run(workspace, program(tmp_path, "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1"))
    assert "bubblewrap" not in found["confined"]["active"]
    (missing,) = (one for one in found["confined"]["missing"] if one["name"] == "read-only files")
    assert "bubblewrap fails (bwrap: No permissions to create a new namespace)" in missing["why"]
    assert "bubblewrap (bwrap)" in missing["remedy"]


def test_neither_landlock_nor_bubblewrap(workspace: Path, tmp_path: Path) -> None:
    found = run(workspace, str(tmp_path))
    (missing,) = (one for one in found["confined"]["missing"] if one["name"] == "read-only files")
    assert missing["why"] == "the kernel has no Landlock, and there is no bubblewrap"


def test_what_is_needed_of_a_hidden_place_stays_and_what_it_hides_doesnt(tmp_path: Path) -> None:
    hidden, environment = tmp_path / "hidden", tmp_path / "hidden" / "a" / "environment"
    (environment / "results").mkdir(parents=True)
    temporary = tmp_path / "temporary"
    (temporary / "solutions").mkdir(parents=True)
    named = (hidden, hidden / "a", environment / "results", temporary / "solutions", tmp_path, tmp_path / "none")
    wing = Wing(tuple(map(str, named)), str(tmp_path / "home"), str(temporary))
    given = options(wing, {environment, environment / "lib", tmp_path})
    text = " ".join(given)
    expected = [
        f"--bind {temporary} {temporary}",
        f"--tmpfs {hidden}",
        f"--ro-bind {environment} {environment}",
        f"--tmpfs {environment}/results",
        f"--tmpfs {temporary}/solutions",
    ]
    places = [text.index(part) for part in expected]
    assert places == sorted(places)
    assert f"--tmpfs {hidden}/a " not in text  # it is gone with what is around it
    assert f"--tmpfs {tmp_path} " not in text  # it is needed, and holds the temporary folder
    assert text.index(f"--remount-ro {hidden}") > places[-1]
    assert given[-1] == "--"
