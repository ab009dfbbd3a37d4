"""What a worker's exception comes to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.buffers.turns import load_arm
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import SolutionRaised
from harness.sandbox.wire.device import Finding
from harness.sandbox.wire.messages import Raised
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
