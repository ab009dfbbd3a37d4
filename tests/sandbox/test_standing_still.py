"""A worker's processes stand still and go on together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.family import Family
from harness.sandbox.variables import MARK

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """A process with a child that has left its session."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, MARK: "a1b2"},
    ) as process:
        try:
            yield process
        finally:
            Family(process.pid, "a1b2").end()


def stray_of(parent: subprocess.Popen[str]) -> int:
    assert parent.stdout is not None
    return int(parent.stdout.readline())


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_all_stand_still_and_go_on(parent: subprocess.Popen[str]) -> None:
    stray = stray_of(parent)
    family = Family(parent.pid, "a1b2")
    family.stop()
    os.waitid(os.P_PID, parent.pid, os.WSTOPPED)
    assert state_of(parent.pid) == "T"
    assert stray in {one.pid for one in family.members()}
    while state_of(stray) != "T":  # it is nobody's child here, so it can't be waited for
        os.sched_yield()
    family.go_on()
    os.waitid(os.P_PID, parent.pid, os.WCONTINUED)
    assert state_of(parent.pid) != "T"
    while state_of(stray) == "T":
        os.sched_yield()


def test_a_quick_stop_is_the_groups_and_a_thorough_one_comes_on_top(parent: subprocess.Popen[str]) -> None:
    stray = stray_of(parent)
    family = Family(parent.pid, "a1b2")
    family.stop(thoroughly=False)
    os.waitid(os.P_PID, parent.pid, os.WSTOPPED)
    assert [state_of(parent.pid), state_of(stray) == "T"] == ["T", False]
    family.stop()
    while state_of(stray) != "T":
        os.sched_yield()
    family.go_on(thoroughly=False)
    os.waitid(os.P_PID, parent.pid, os.WCONTINUED)
    assert [state_of(parent.pid) == "T", state_of(stray)] == [False, "T"]


def test_who_stands_still_can_be_ended(parent: subprocess.Popen[str]) -> None:
    stray = stray_of(parent)
    family = Family(parent.pid, "a1b2")
    family.stop()
    os.waitid(os.P_PID, parent.pid, os.WSTOPPED)
    left = family.end()
    assert parent.wait() == -signal.SIGKILL
    assert len(left.processes) == 1
    assert not Path(f"/proc/{stray}").exists() or state_of(stray) == "Z"
