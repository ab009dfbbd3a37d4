"""A wrong row of a call, and the whole call."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from harness.referee.buffers.laid import KeptRow
from harness.referee.buffers.repetition import judge_call


def test_a_wrong_row_is_confirmed_on_the_whole_call() -> None:
    asked = []

    def judge(taken: object, call: int, scope: str) -> Any:
        asked.append((taken, call, scope))
        return SimpleNamespace(passed=True)

    case: Any = SimpleNamespace(judge_row=lambda *_: SimpleNamespace(passed=False), judge=judge)
    taken: Any = "a turn"
    for scope in ("row", "timed_turn"):
        check, failed = judge_call(case, taken, 1, scope, KeptRow(1, 2, []))  # type: ignore[arg-type]
        assert check.passed
        assert failed is None
    assert asked == [(taken, 1, "complete"), (taken, 1, "timed_turn")]
