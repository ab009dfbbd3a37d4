"""What the machine may have done is tried again once; what ends so again is the solution's, unless it is seen to be the
machine's."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from harness.errors import HarnessError, MachineError
from harness.model.verdict import Verdict
from harness.referee import outage
from harness.referee.outage import settled, suspected
from harness.sandbox.outcome import SolutionFailed, WorkerKilled

FULL = SolutionFailed(Verdict.LOAD_ERROR, "OSError: it raised", "OSError: [Errno 28] No space left on device")
KILLED = SolutionFailed(Verdict.CRASHED, "the process was killed by SIGKILL")


@pytest.mark.parametrize(
    ("error", "is_suspected"),
    [
        (MachineError("the process that workers are forked from has ended"), True),
        (WorkerKilled("killed", KILLED), True),
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (FULL, True),
        (SolutionFailed(Verdict.COMPILE_ERROR, "x", "fatal error: Killed signal terminated program cc1plus"), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (HarnessError("it was changed while it was judged"), False),
        (SolutionFailed(Verdict.COMPILE_ERROR, "expected ';'", "x.h: No such file or directory"), False),
        (SolutionFailed(Verdict.WRONG_VALUES, "No space left on device"), False),
        (SolutionFailed.cheating("trace", "No space left on device"), False),
        (ZeroDivisionError(), False),
    ],
)
def test_only_what_a_machine_does_is_suspected(error: Exception, is_suspected: bool) -> None:
    assert (suspected(error) is not None) == is_suspected


def test_who_is_killed_again_did_it_himself_unless_memory_is_still_short() -> None:
    assert settled(WorkerKilled("killed", KILLED)) is KILLED
    assert isinstance(settled(WorkerKilled("killed", None)), MachineError)


@pytest.mark.parametrize(("is_full", "verdict"), [(False, Verdict.LOAD_ERROR), (True, None)])
def test_a_disk_that_is_full_without_the_solution_is_the_machines(
    monkeypatch: pytest.MonkeyPatch, is_full: bool, verdict: Verdict | None
) -> None:
    def require_room(folder: Path, needed_bytes: int) -> None:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outage, "require_room", require_room)
    error = settled(FULL)
    assert (error.verdict if isinstance(error, SolutionFailed) else None) is verdict


def test_a_compiler_that_was_killed_where_memory_is_short_is_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    killed = SolutionFailed(Verdict.COMPILE_ERROR, "x", "fatal error: Killed signal terminated program cc1plus")
    monkeypatch.setattr(outage, "available_bytes", lambda: 2**31)
    assert settled(killed) is killed
    monkeypatch.setattr(outage, "available_bytes", lambda: 2**31 - 1)
    assert isinstance(settled(killed), MachineError)


def test_no_disk_is_asked_about_what_has_nothing_to_do_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "require_room", lambda *arguments: pytest.fail("asked"))
    wrong = SolutionFailed(Verdict.WRONG_VALUES, "1 of 4 values")
    assert settled(wrong) is wrong
