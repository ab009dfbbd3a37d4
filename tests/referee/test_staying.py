"""Who stays for the next solution when one has been judged, and who is started for it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import MachineError
from harness.referee.found import Found
from harness.referee.judging import Judging
from harness.sandbox.process import Made
from harness.sandbox.wire.means import Level


class Process:
    def __init__(self, made: Made | None = None, is_unused: bool = False) -> None:
        self.made = made
        self.is_unused = is_unused
        self.is_killed = False

    def kill(self) -> None:
        self.is_killed = True


class Crew:
    """Workers of which only the number that is asked for matters."""

    def __init__(self, starts: bool = True) -> None:
        self.stop = threading.Event()
        self.started: list[int] = []
        self.ended = 0
        self._starts = starts

    def start_ahead(self, count: int) -> None:
        self.started.append(count)
        if not self._starts:
            raise MachineError("no room")

    def end_idle(self) -> None:
        self.ended += 1


def judging(crew: Any, is_last: bool = False, level: Level = "full") -> Judging:
    nothing: Any = SimpleNamespace()
    return Judging(nothing, crew, nothing, nothing, Found(confinement=level), lambda what: None, is_last)


def test_all_but_those_who_have_made_something_or_nothing_yet_end_together() -> None:
    solution, ready, failed = Process(), Process(Made(("eager",), (None, 0), None)), Process()
    unused = Process(is_unused=True)
    references: Any = {"eager": ready, "control": unused, "compile": failed}
    crew = Crew()
    judging(crew)._end_all(solution, references, has_room=True)  # type: ignore[arg-type]
    assert [one.is_killed for one in (solution, ready, unused, failed)] == [True, False, False, True]
    assert crew.started == [4]


def test_who_cannot_be_started_ahead_is_no_fault_of_this_solution() -> None:
    judging(Crew(starts=False))._end_all(Process(), {}, has_room=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("has_room", "is_last", "level", "stays"),
    [
        (True, False, "full", True),
        (False, False, "full", False),
        (True, True, "full", False),
        (True, False, "files", False),
        (True, False, "none", False),
    ],
)
def test_nobody_waits_without_room_a_successor_or_full_confinement(
    has_room: bool, is_last: bool, level: Level, stays: bool
) -> None:
    crew = Crew()
    one = judging(crew, is_last, level)
    one._end_all(Process(), {}, has_room)  # type: ignore[arg-type]
    one._leave_idle(has_room)
    assert (crew.started, crew.ended) == (([1], 0) if stays else ([], 1))


def test_nobody_is_started_once_the_run_is_told_to_stop() -> None:
    crew = Crew()
    crew.stop.set()
    judging(crew)._end_all(Process(), {}, has_room=True)  # type: ignore[arg-type]
    assert crew.started == []
