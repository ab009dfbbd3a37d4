"""A solution's fault, as an exception inside the referee and as a verdict outside."""

from __future__ import annotations

import dataclasses
import re

from harness.model.check import CheckName, Evidence
from harness.model.evaluation import Failure
from harness.model.verdict import Verdict
from harness.sandbox.advice import advice_for
from harness.sandbox.wire.messages import Raised

_REASON_CHARS = 1_000
_DETAILS_CHARS = 20_000
"""A record keeps no more of what a worker may send at any length."""


class SolutionFailed(Exception):
    """An exception that ends an evaluation with a verdict."""

    def __init__(self, verdict: Verdict, reason: str, details: str | None = None, next_step: str | None = None) -> None:
        super().__init__(reason)
        self.verdict = verdict
        advice = next_step or advice_for(verdict, f"{reason}\n{details or ''}")
        self.failure = Failure(reason[:_REASON_CHARS], advice, details=details[:_DETAILS_CHARS] if details else None)

    @classmethod
    def cheating(cls, check: CheckName, observed: str, details: str | None = None, **numbers: float) -> SolutionFailed:
        """Make the verdict with its evidence: `numbers` have their units in their names."""
        failed = cls(Verdict.CHEATING, observed, details)
        evidence = Evidence(check, failed.failure.reason, numbers)
        failed.failure = dataclasses.replace(failed.failure, evidence=(evidence,))
        return failed


class TooMuchWork(SolutionFailed):
    """Work that is more than the simulator can do in the time of a turn: neither right nor wrong."""


_DEVICE_FAULTS = (
    (r"illegal memory access|misaligned address|invalid address space|stack overflow", Verdict.MEMORY_ERROR),
    (r"out of memory", Verdict.OUT_OF_MEMORY),
)
_OUT_OF_MEMORY_TYPES = {"OutOfMemoryError", "MemoryError"}


def from_exception(raised: Raised, stage: str, otherwise: Verdict) -> SolutionFailed:
    """The verdict on an exception that the solution raised while it did `stage`."""
    verdict = otherwise
    if raised.type_name in _OUT_OF_MEMORY_TYPES:
        verdict = Verdict.OUT_OF_MEMORY
    else:
        for pattern, fault in _DEVICE_FAULTS:
            if re.search(pattern, raised.message, re.IGNORECASE):
                verdict = fault
                break
    first_line = next((line for line in raised.message.splitlines() if line.strip()), "(no message)")
    return SolutionFailed(verdict, f"{raised.type_name} {stage}: {first_line}", raised.traceback)
