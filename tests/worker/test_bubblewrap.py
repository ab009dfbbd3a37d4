"""Files that can't be written and places that look empty, by bubblewrap, as on a kernel without Landlock."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.variables import of_own_folder, scrubbed
from harness.sandbox.wire.layout import scratch_folder
from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement.bubblewrap import INSIDE, options
from tests.machine import ROOT
from tests.wording import tells

CHILD = """
import json, os, sys
from dataclasses import asdict
from pathlib import Path
from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement import bubblewrap, confine, own_user
from harness.worker.confinement.linux import Unavailable
def lacks(*arguments, **options):
    raise Unavailable("not here", "elsewhere")
sandbox, server, own, others, referee, has_user = sys.argv[1:]
inside = bubblewrap.enter(server)
parent = inside.monitor if isinstance(inside, bubblewrap.Bubblewrap) else None
if has_user == "no":
    import harness.worker.confinement as means
    means.become_own_user = lacks
confined = confine(Sandbox.from_argument(sandbox), os.open(os.devnull, os.O_RDONLY), parent, inside)
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
    "around": attempt(lambda: os.listdir(f"/proc/{referee}/root/var")),
    "environment": attempt(lambda: Path(f"/proc/{referee}/environ").read_bytes()),
    "shared memory": os.listdir("/dev/shm"),
    "monitor": attempt(lambda: os.kill(parent, 9)) if parent else None,
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


def run(workspace: Path, path: str, has_user: bool = True) -> dict[str, Any]:
    """What a child finds that has the programs of `path`, and no Landlock."""
    folder = make_folder()
    hidden, home = (str(workspace / "solutions"),), str(workspace / "home")
    sandbox = Sandbox(str(folder), hidden, home, os.getpid(), is_apart=True)
    server = replace(sandbox, folder=str(folder.parent))
    own = scratch_folder(folder) / "work"
    command = [sys.executable, "-c", CHILD, sandbox.to_argument(), server.to_argument(), str(own), hidden[0]]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.without_landlock", *command, str(os.getpid()), "yes" if has_user else "no"],
            capture_output=True,
            env={**scrubbed(os.environ, ()), **of_own_folder(folder, "ab"), "PATH": path},
            cwd=ROOT,
            timeout=60,
            check=False,
        )
    finally:
        remove_folder(folder)
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


def require_bubblewrap(found: dict[str, Any]) -> None:
    if "bubblewrap" not in found["confined"]["active"]:
        pytest.skip(str(found["confined"]["missing"]))


def program(folder: Path, what: str) -> str:
    """A PATH with a bwrap of that kind, and what is in the machine's own."""
    (folder / "bwrap").write_text(FAKE.format(what=what))
    (folder / "bwrap").chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("has_user", [True, False])
def test_nothing_outside_can_be_written_and_what_is_hidden_is_not_there(workspace: Path, has_user: bool) -> None:
    found = run(workspace, os.environ["PATH"], has_user)
    require_bubblewrap(found)
    assert "filtered system calls" in found["confined"]["active"]
    assert "own mounts" not in found["confined"]["active"] or found["shared memory"] == []
    assert found["own"] == "1"
    assert found["write"] == found["fill"] == "OSError"  # a file system that is read-only
    assert found["list"] == "[]"
    assert found["read"] == "FileNotFoundError"
    assert found["around"] == found["environment"] == "PermissionError"
    assert found["monitor"] == "PermissionError"
    assert not list(workspace.glob("made"))
    assert [path.name for path in (workspace / "solutions").iterdir()] == ["solution.py"]


def test_a_fork_server_and_its_workers_live_inside_and_end_with_it(workspace: Path) -> None:
    text = """
import json, os, sys, threading, time
from pathlib import Path
from harness.sandbox.wire.frames import envelope, receive_frame, send_frame
from harness.sandbox.wire.messages import WarmUp
from harness.sandbox.fork_server import ForkServers
from harness.sandbox.start import StartedWorker, Surroundings, make_launch
hidden, cache = map(Path, sys.argv[1:])
servers = ForkServers()
launch = make_launch("cuda", cache, [], {"CUDA_VISIBLE_DEVICES": ""}, Surroundings((hidden,)))
worker = StartedWorker(launch, servers, threading.Event())
send_frame(worker.socket, envelope("ab12", WarmUp()))
frame, _ = receive_frame(worker.socket)
pid = worker.process.pid
status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
server = int(status["PPid"])
view = os.listdir(f"/proc/{pid}/root{hidden.parent.parent}")
servers.close()
deadline = time.monotonic() + 20
while any(os.path.exists(f"/proc/{one}") for one in (pid, server)) and time.monotonic() < deadline:
    time.sleep(0.01)
worker.close()
print(json.dumps([json.dumps(frame), view, [os.path.exists(f"/proc/{one}") for one in (pid, server)]]))
"""
    if os.geteuid() != 0:
        pytest.skip("only root can look into a worker")
    command = [sys.executable, "-c", text, str(workspace / "solutions"), str(workspace / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.without_landlock", *command],
        capture_output=True,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    greeting, view, remain = json.loads(done.stdout)
    if "bubblewrap" not in greeting:
        pytest.skip("bubblewrap isn't installed, or doesn't work here")
    assert view == []  # it is hidden as well
    assert remain == [False, False]


def test_a_process_starts_itself_anew_inside(workspace: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    found = run(workspace, program(tmp_path, f'echo "$@" >> {told}'))
    assert "bubblewrap" in found["confined"]["active"]
    assert "read-only files" not in [one["name"] for one in found["confined"]["missing"]]
    assert found["command"] == INSIDE
    trial, start = told.read_text().splitlines()[0], told.read_text()
    assert trial.endswith(f"-- {sys.executable} -I -S -c ")
    assert f"--tmpfs {workspace}/solutions" in trial
    assert start.count("--ro-bind / /") == 2


def test_a_bubblewrap_that_fails_is_told_and_done_without(workspace: Path, tmp_path: Path) -> None:
    found = run(workspace, program(tmp_path, "echo 'bwrap: No permissions to create a new namespace' >&2; exit 1"))
    assert "bubblewrap" not in found["confined"]["active"]
    (missing,) = (one for one in found["confined"]["missing"] if one["name"] == "read-only files")
    assert tells(missing["why"], "bubblewrap fails", "No permissions")
    assert "bubblewrap (bwrap)" in missing["remedy"]


def test_neither_landlock_nor_bubblewrap(workspace: Path, tmp_path: Path) -> None:
    found = run(workspace, str(tmp_path))
    (missing,) = (one for one in found["confined"]["missing"] if one["name"] == "read-only files")
    assert tells(missing["why"], "Landlock", "Function not implemented", "no bubblewrap")


def test_what_is_needed_of_a_hidden_place_stays_and_what_it_hides_doesnt(tmp_path: Path) -> None:
    hidden, environment = tmp_path / "hidden", tmp_path / "hidden" / "a" / "environment"
    (environment / "results").mkdir(parents=True)
    temporary = tmp_path / "temporary"
    (temporary / "solutions").mkdir(parents=True)
    named = (hidden, hidden / "a", environment / "results", temporary / "solutions", tmp_path, tmp_path / "none")
    sandbox = Sandbox(str(temporary), tuple(map(str, named)), str(tmp_path / "home"), 1)
    text = " ".join(given := options(sandbox, {environment, environment / "lib", temporary / "lib", tmp_path}))
    expected = [
        f"--tmpfs {hidden}",
        f"--ro-bind {environment} {environment}",
        f"--tmpfs {environment}/results",
        f"--bind {temporary} {temporary}",
        f"--tmpfs {temporary}/solutions",
        f"--remount-ro {hidden}",
    ]
    places = [text.index(part) for part in expected]
    assert places == sorted(places)
    assert f"--tmpfs {hidden}/a " not in text  # it is gone with what is around it
    assert f"--tmpfs {tmp_path} " not in text  # it is needed
    assert str(temporary / "lib") not in text  # as writable as all there
    assert str(tmp_path / "none") not in text
    assert given[-1] == "--"


def test_a_temporary_folder_in_a_hidden_place_can_be_written_and_nothing_else_there(tmp_path: Path) -> None:
    temporary = tmp_path / ".cache" / "tmp"
    temporary.mkdir(parents=True)
    text = " ".join(options(Sandbox(str(temporary), (), str(tmp_path), 1), ()))
    assert text.index(f"--tmpfs {temporary.parent} ") < text.index(f"--bind {temporary} {temporary}")


def test_dot_entries_that_are_links_hide_what_they_lead_to_within_the_home(tmp_path: Path) -> None:
    for name in ("keys", "venvs"):
        (tmp_path / name).mkdir()
    for link, target in ((".keys", "keys"), (".venv", "venvs"), (".usr", "/usr"), (".all", "/"), (".gone", "none")):
        (tmp_path / link).symlink_to(target)
    (tmp_path / "temporary").mkdir()
    text = " ".join(options(Sandbox(str(tmp_path / "temporary"), (), str(tmp_path), 1), {tmp_path / "venvs"}))
    assert f"--tmpfs {tmp_path}/keys " in text
    for other in (f"{tmp_path}/venvs", "/usr ", f"{tmp_path}/.", f"{tmp_path}/none"):
        assert f"--tmpfs {other}" not in text
