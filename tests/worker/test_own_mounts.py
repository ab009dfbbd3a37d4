"""A worker's shared memory is its own, and a user's files stay as they are, whoever runs harness and whatever the
machine lacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.sandbox.folder import make_folder, remove_folder
from harness.sandbox.variables import of_own_folder, scrubbed
from harness.sandbox.wire.layout import SHARED_MEMORY, own_shared_memory, scratch_folder
from harness.sandbox.wire.sandbox import Sandbox
from harness.worker.confinement.linux import Unavailable
from harness.worker.confinement.own_mounts import enter_own_mounts
from tests.machine import ITS_PACKAGES, USER, python_of_others

CHILD = """
import json, os, shutil, subprocess, sys
from pathlib import Path
from harness.sandbox.wire.sandbox import Sandbox
import harness.worker.confinement as means
from harness.worker.confinement.linux import Unavailable
def lacks(*arguments, **options):
    raise Unavailable("not on this machine", "another machine")
sandbox, file, other, *missing = sys.argv[1:]
for name in missing:
    place, _, function = name.rpartition(".")
    setattr(getattr(means, place) if place else means, function, lacks)
confined = means.confine(Sandbox.from_argument(sandbox), os.open(os.devnull, os.O_RDONLY))
def attempt(what):
    try:
        return repr(what())
    except OSError as error:
        return type(error).__name__
other = int(other)
shm = Path("/dev/shm")
(shm / "made").mkdir()
(shm / "made" / "note").write_text("for the next one")
Path("own").write_text("x")
print(json.dumps({
    "active": confined.active,
    "seen": os.listdir(shm),
    "changes": [attempt(lambda: os.chmod(file, 0o644)), attempt(lambda: os.utime(file, (1, 1))),
                attempt(lambda: os.setxattr(file, "user.x", b"1")), attempt(lambda: os.chown(file, -1, os.getgid()))],
    "pace": [attempt(lambda: os.sched_setaffinity(other, {min(os.sched_getaffinity(0))})),
             attempt(lambda: os.sched_setscheduler(other, os.SCHED_IDLE, os.sched_param(0))),
             attempt(lambda: os.setpriority(os.PRIO_PROCESS, other, 19)),
             attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19))],
    "own": [attempt(lambda: os.chmod("own", 0o640)), oct(os.stat("own").st_mode & 0o777), os.getxattr is not None,
            attempt(lambda: shutil.copy2("own", "copied")), attempt(lambda: os.nice(1) > 0),
            attempt(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))],
    "shared": __import__("multiprocessing").Value("i", 7).value,
}))
"""


@dataclass(frozen=True)
class Person:
    """Who runs harness: the Python that this user may run, and its number; None for who runs these tests."""

    python: str
    user: int | None


@pytest.fixture(scope="module")
def ordinary() -> Person:
    if os.geteuid() != 0:
        return Person(sys.executable, None)
    python = python_of_others()
    return Person(python, USER) if python else pytest.skip("no other user may run this Python")


class Run:
    """What a child finds, and what is left of it."""

    def __init__(self, person: Person, file: Path, lacks: Sequence[str]) -> None:
        folder = make_folder()
        place = own_shared_memory(folder)
        as_user: dict[str, Any] = {}
        if person.user is not None:
            as_user = {"user": person.user, "group": person.user, "extra_groups": []}
            for path in (folder, *folder.rglob("*"), place, file):
                os.chown(path, person.user, person.user)
        before = os.stat(file)
        sandbox = Sandbox(str(folder), (), "/nowhere", os.getpid(), is_apart=True)
        with subprocess.Popen(["sleep", "1000"], **as_user) as other:
            try:
                done = subprocess.run(
                    [person.python, "-c", CHILD, sandbox.to_argument(), str(file), str(other.pid), *lacks],
                    capture_output=True,
                    env={**scrubbed(os.environ, ()), **ITS_PACKAGES, **of_own_folder(folder, "ab")},
                    cwd=scratch_folder(folder) / "work",
                    timeout=60,
                    check=False,
                    **as_user,
                )
                assert done.returncode == 0, done.stderr.decode()
                self.found = dict(json.loads(done.stdout))
                self.has_slowed = os.sched_getscheduler(other.pid) != 0 or os.getpriority(0, other.pid) > 0
                self.cpus = os.sched_getaffinity(other.pid)
            finally:
                other.kill()
                after = os.stat(file)
                self.is_unchanged = (before.st_mode, before.st_mtime) == (after.st_mode, after.st_mtime)
                self.is_unchanged &= not os.listxattr(file)
                self.note = (place / "made" / "note").exists()
                remove_folder(folder)
                subprocess.run(["rm", "-rf", SHARED_MEMORY / "made"], check=False)


@pytest.fixture
def file() -> Iterator[Path]:
    """A file of the user's that lies where the user gets."""
    path = Path(f"/var/tmp/harness-test-{os.getpid()}")
    path.write_text("secret")
    path.chmod(0o600)
    yield path
    path.unlink()


NO_LANDLOCK, NO_MOUNTS, NO_USER = "landlock.restrict", "enter_own_mounts", "become_own_user"


@pytest.mark.parametrize("lacks", [(), (NO_LANDLOCK,), (NO_MOUNTS,), (NO_LANDLOCK, NO_MOUNTS)])
def test_an_ordinary_users_files_and_processes_stay_as_they_are(
    ordinary: Person, file: Path, lacks: tuple[str, ...]
) -> None:
    run = Run(ordinary, file, lacks)
    if "filtered system calls" not in run.found["active"]:
        pytest.skip("this machine takes no filter")
    assert run.is_unchanged
    assert not run.has_slowed
    assert run.cpus == os.sched_getaffinity(0)
    assert run.found["pace"][1:] == ["PermissionError"] * 3
    assert run.found["own"][3:] == ["'copied'", "True", "None"]  # what honest builds do goes on
    assert run.found["own"][1] == ("0o640" if "own mounts" in run.found["active"] else "0o644")


@pytest.mark.parametrize("lacks", [(), (NO_USER,), (NO_LANDLOCK,), (NO_USER, NO_LANDLOCK)])
def test_of_shared_memory_a_worker_sees_its_own_alone(ordinary: Person, file: Path, lacks: tuple[str, ...]) -> None:
    for person in (ordinary, Person(sys.executable, None)):
        run = Run(person, file, lacks)
        if "own mounts" not in run.found["active"]:
            pytest.skip("this machine lets nobody have mounts of its own")
        assert run.found["seen"] == ["made"]
        assert run.found["shared"] == 7
        assert run.note  # where the referee finds it
        assert not (SHARED_MEMORY / "made").exists()


def test_a_root_that_stays_root_changes_no_files(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("nobody is root here")
    run = Run(Person(sys.executable, None), file, (NO_USER,))
    if "filtered system calls" not in run.found["active"]:
        pytest.skip("this machine takes no filter")
    assert run.is_unchanged
    assert not run.has_slowed


@pytest.mark.parametrize(("folder", "needed"), [("/dev/shm/worker", "/usr/lib"), ("/tmp", "/dev/shm/cache/toolkit")])
def test_what_lies_in_the_shared_memory_itself_stays_to_be_seen(folder: str, needed: str) -> None:
    with pytest.raises(Unavailable, match="/dev/shm"):
        enter_own_mounts(Path(folder), [Path(needed)])
