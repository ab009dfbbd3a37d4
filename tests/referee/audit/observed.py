"""Observations made of scripted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.referee.audit.observed import ArmTurns, Facts, Observed
from harness.referee.audit.traced_turn import TracedCall, TracedTurn
from harness.sandbox.wire.device import KernelRun


def observed(
    baseline: ArmTurns | None = None, facts: Facts = Facts(), median_ns: float | None = None, **of_solution: Any
) -> Observed:
    """What the solution's turns showed by name of ArmTurns' fields, beside a baseline."""
    return Observed(ArmTurns(**of_solution), baseline or ArmTurns(), facts, median_ns)


def busy(*turns: Sequence[int]) -> list[TracedTurn]:
    """Traced turns whose calls kept the device busy for so many ns."""
    return [TracedTurn(tuple(TracedCall(_kernel(ns), ns) for ns in turn), (), 0.0) for turn in turns]


def _kernel(ns: int) -> tuple[KernelRun, ...]:
    return (KernelRun("own_kernel", 0, ns, 7, "kernel"),)
