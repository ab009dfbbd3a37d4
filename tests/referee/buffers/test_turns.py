"""What a worker's exception comes to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.buffers.turns import ALL_BLOCKS, load_arm, take_turn
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import SolutionRaised
from harness.sandbox.wire.device import Conditions, Finding
from harness.sandbox.wire.messages import Raised, TakeTurn, TurnTaken
from tests.wording import tells

GAP = "harness-sim-unsupported: inline PTX (asm) at line 3"
FAULT = Finding("illegal-address", "4 bytes beyond", "kernel", "/x.cu", 3)
REMARK = Finding("same-value-write", "by two threads")


def failure(*findings: Finding, backend: str = "sim") -> SolutionFailed:
    def ask(*_: object) -> None:
        raise SolutionRaised(Raised("NotImplementedError", GAP, "the traceback", (), findings))

    worker: Any = SimpleNamespace(backend=backend, ask=ask)
    with pytest.raises(SolutionFailed) as caught:
        load_arm(worker, "solution.py", "ModelNew", Config().limits)
    return caught.value


def test_a_gap_of_the_simulators_says_nothing_about_the_solution() -> None:
    found = failure(REMARK)
    assert found.verdict is Verdict.UNSUPPORTED
    assert tells(found.failure.reason, "PTX", "line 3")


def test_a_fault_that_was_seen_comes_before_a_gap_that_is_claimed() -> None:
    found = failure(REMARK, FAULT)
    assert found.verdict is Verdict.MEMORY_ERROR
    assert tells(found.failure.reason, "illegal-address", "line 3")


def test_a_gpu_has_no_gaps() -> None:
    assert failure(backend="cuda").verdict is Verdict.LOAD_ERROR


@pytest.mark.parametrize(("blocks", "work_s"), [(None, 15.0), (ALL_BLOCKS, 30.0), (4, None), (0, None)])
def test_what_decides_after_a_few_blocks_may_take_longer_than_what_can_be_sampled(
    blocks: int | None, work_s: float | None
) -> None:
    asked: list[TakeTurn] = []

    def ask(request: TakeTurn, _: float) -> TurnTaken:
        asked.append(request)
        return TurnTaken((), (), 0)

    worker: Any = SimpleNamespace(ask=ask)
    spec = SimpleNamespace(gradients=())
    buffers: Any = SimpleNamespace(spec=spec, poison_outputs=lambda calls: None, synchronize=lambda: None)
    limits = Config().but("limits", turn_s=120.0).limits
    take_turn(worker, buffers, TakeTurn((), Conditions(), sample_blocks=blocks), limits)
    assert [request.work_s for request in asked] == [work_s]
