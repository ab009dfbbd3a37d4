"""A solution's fault, as an exception inside the referee and as a verdict outside, with the next step for its author.

Known causes come first, then the verdict's own advice (advice.yaml).
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import operator
import re
from pathlib import Path
from typing import Any

import yaml

from harness.errors import MachineError
from harness.model.check import CheckName, Evidence
from harness.model.evaluation import Failure
from harness.model.verdict import Verdict
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


class WorkerKilled(MachineError):
    """An end by a signal that others may have sent. `failed` is the verdict where that happens again; None where the
    machine is seen to be at fault."""

    def __init__(self, what: str, failed: SolutionFailed | None) -> None:
        super().__init__(what)
        self.failed = failed


class TooMuchWork(SolutionFailed):
    """Work that is more than the simulator can do in the time of a turn: neither right nor wrong."""


_DEVICE_FAULTS = (
    (r"illegal memory access|misaligned address|invalid address space|stack overflow", Verdict.MEMORY_ERROR),
    (r"out of memory", Verdict.OUT_OF_MEMORY),
)
_OUT_OF_MEMORY_TYPES = {"OutOfMemoryError", "MemoryError"}


def from_exception(raised: Raised, stage: str, otherwise: Verdict) -> SolutionFailed:
    """The verdict on an exception that the solution raised while it did `stage`."""
    faults = (fault for pattern, fault in _DEVICE_FAULTS if re.search(pattern, raised.message, re.IGNORECASE))
    is_of_memory = raised.type_name in _OUT_OF_MEMORY_TYPES
    verdict = Verdict.OUT_OF_MEMORY if is_of_memory else next(faults, otherwise)
    message = without_native_frames(raised.message)
    first_line = next((line for line in message.splitlines() if line.strip()), "(no message)")
    return SolutionFailed(verdict, f"{raised.type_name} {stage}: {first_line}", without_native_frames(raised.traceback))


_NATIVE_FRAMES = re.compile(r"\nException raised from [^\n]*(?:\n(?:frame #\d+: |<omitting python frames>)[^\n]*)*\n?")


def without_native_frames(text: str) -> str:
    """Leave out the addresses in torch's libraries that some of its errors list: they say nothing to an author."""
    return _NATIVE_FRAMES.sub("", text)


_NO_MODULE = re.compile(r"ModuleNotFoundError.*No module named '(\w+)'")
_USUAL_MODULES = ("numpy", "torch", "triton")


def advice_for(verdict: Verdict, text: str) -> str:
    """One sentence, from the failure's text where its cause is known: the first that it tells of, since a compiler's
    later errors may follow from it."""
    advice = _advice()
    absent = _NO_MODULE.search(text)
    near = difflib.get_close_matches(absent[1], _USUAL_MODULES, n=1, cutoff=0.75) if absent else []
    if absent and near and not absent[1].startswith(near[0]):  # torchao, numpyro
        return f"mend the name '{absent[1]}': did you mean '{near[0]}'?"
    known = advice["without_blame"].get(verdict.value, advice["causes"])
    found = [(match.start(), one["advice"]) for one in known if (match := re.search(one["pattern"], text))]
    if found:
        return str(min(found, key=operator.itemgetter(0))[1])
    return str(advice["by_verdict"].get(verdict.value, "see the record"))


@functools.cache
def _advice() -> dict[str, Any]:
    return dict(yaml.safe_load(Path(__file__).with_name("advice.yaml").read_text(encoding="utf-8")))
