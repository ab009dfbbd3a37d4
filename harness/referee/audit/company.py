"""Times prove nothing while another program is on the GPU. It holds up calls at random, traced and timed ones, so that
an honest kernel can look like one that hides work (H100: a traced call of 22 ms, claims of 15, beside six programs).
Nor does a call's cost by the clock while programs on all CPUs keep the solution's process waiting."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from harness.devices import Telemetry
from harness.errors import MachineError
from harness.model.check import CheckName, Evidence
from harness.sandbox.outcome import SolutionFailed

_OF_TIMES: frozenset[CheckName] = frozenset({"phases", "tail", "wall_clock", "idle_gpu"})


@contextmanager
def excusing_company(telemetry: Telemetry | None = None) -> Iterator[Telemetry]:
    """Yield a telemetry that watches the GPU. Where nothing but times accuses the solution, and somebody else was on
    the GPU at any of its looks or is there at the end, the fault is the machine's; so it is where its process waited
    for a CPU as long as what accuses it. The argument is for tests.

    Raises: MachineError in place of SolutionFailed.
    """
    with telemetry or Telemetry() as watching:
        try:
            yield watching
        except SolutionFailed as failed:
            checks = sorted({one.check for one in failed.failure.evidence})
            if not checks or not _OF_TIMES.issuperset(checks):
                raise
            if all(map(_is_waiting, failed.failure.evidence)):
                raise MachineError(
                    "other programs took the CPUs, so nothing can be said of the solution's times: end them, or build "
                    f"less at once, by --jobs ({failed})"
                ) from failed
            if not watching.other_processes() and not watching.had_company:
                raise
            raise MachineError(
                "another program was on the GPU, so nothing can be said of the solution's times: end it, or evaluate "
                f"on another GPU ({', '.join(checks)}: {failed})"
            ) from failed


def _is_waiting(evidence: Evidence) -> bool:
    """Say whether what exceeds the tolerance isn't more than the wait for a CPU. Who makes itself wait gains no verdict
    by that."""
    told = evidence.numbers
    excess_ns = told.get("hidden_ns_per_call", math.inf) - told.get("tolerance_ns", 0.0)
    return evidence.check == "wall_clock" and told.get("waited_for_cpu_ns_per_call", 0.0) >= excess_ns
