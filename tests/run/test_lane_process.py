"""What of a lane's process needs no simulator: how it starts, and whose error is whose."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import MachineError
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.run import lane as lane_module
from harness.run import lane_process
from harness.run.lane import LaneSettings, ProcessLane
from harness.sandbox.variables import own_python
from tests.examples import environment, passed

PLANTED = "import pathlib; pathlib.Path(__file__).with_name('was_imported').touch()\nraise ImportError('planted')\n"


def test_what_lies_in_the_working_folder_is_not_imported(tmp_path: Path) -> None:
    for name in ("queue", "random", "runpy", "torch", "harness"):
        (tmp_path / f"{name}.py").write_text(PLANTED)
    ours, theirs = Pipe()
    ours.close()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with theirs:
        done = subprocess.run(
            own_python("harness.run.lane_process", str(theirs.fileno())),
            pass_fds=[theirs.fileno()],
            cwd=tmp_path,
            env=plain,
            capture_output=True,
            text=True,
            check=False,
        )
    assert not (tmp_path / "was_imported").exists()
    assert "EOFError" in done.stderr.splitlines()[-1]  # it stood, and found nobody on the other side


def test_its_lane_opens_before_it_judges() -> None:
    done: list[object] = []
    lane: Any = SimpleNamespace(
        open=lambda config, environment: done.append((config, environment)),
        evaluate=lambda assignment, notify: done.append(assignment),
        examine=lambda: None,
    )
    asked: Any = queue.SimpleQueue()
    opening = (Config(), environment())
    for one in (opening, "assignment", None):
        asked.put(one)
    ours, theirs = Pipe()
    with ours, theirs:
        lane_process._serve(theirs, asked, lane)
        assert [ours.recv(), ours.recv()] == [None, "alive"]
    assert done == [opening, "assignment"]


class FakeProcess:
    """One that never ends unless it is killed."""

    def __init__(self) -> None:
        self.is_killed = False

    def wait(self, timeout: float | None = None) -> int:
        if self.is_killed:
            return -9
        assert timeout is not None, "waits without an end"
        raise subprocess.TimeoutExpired("lane", timeout)

    def kill(self) -> None:
        self.is_killed = True


def started(monkeypatch: pytest.MonkeyPatch) -> tuple[ProcessLane, Connection, FakeProcess]:
    """A lane, and the end of the pipe that its process would hold."""
    lane = ProcessLane(LaneSettings("sim", Path("cache"), None, None, None), {}, threading.Event())
    ours, theirs = Pipe()
    process: Any = FakeProcess()

    def start(self: ProcessLane) -> Connection:
        self._process, self._pipe = process, ours
        return ours

    monkeypatch.setattr(ProcessLane, "_start", start)
    return lane, theirs, process


def assignment() -> Any:
    return SimpleNamespace(job=None, built=None, environment=None)


def test_an_error_of_who_is_told_is_not_the_lanes_end(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, theirs, process = started(monkeypatch)
    theirs.send("loading")

    def notify(what: str) -> None:
        raise BrokenPipeError("nobody reads the terminal")

    with pytest.raises(BrokenPipeError, match="nobody"):
        lane.evaluate(assignment(), notify)
    assert not process.is_killed
    lane.close()
    assert process.is_killed


def test_a_device_that_is_stuck_is_told_after_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, theirs, _ = started(monkeypatch)
    for word in (passed(), "alive", passed(), MachineError("the GPU is stuck")):
        theirs.send(word)
    assert lane.evaluate(assignment(), lambda what: None).verdict is Verdict.PASSED
    lane.examine()
    assert lane.evaluate(assignment(), lambda what: None).verdict is Verdict.PASSED
    with pytest.raises(MachineError, match="stuck"):
        lane.examine()
    lane.examine()  # nothing was evaluated since
    lane.close()


def test_a_lane_that_hangs_up_and_lives_on_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, theirs, process = started(monkeypatch)
    told: list[str] = []

    def record(job: None, workers: None, environment: None, built: Any) -> Any:
        told.append(str(built.failed))
        return Verdict.HARNESS_ERROR

    monkeypatch.setattr(lane_module, "replace", lambda built, failed: SimpleNamespace(failed=failed))
    monkeypatch.setattr(lane_module, "evaluate", record)
    theirs.close()
    found: Any = lane.evaluate(assignment(), told.append)
    assert found is Verdict.HARNESS_ERROR
    (what,) = told
    assert "exit code -9" in what
    assert process.is_killed
