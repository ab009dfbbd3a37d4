"""Times prove nothing while another program is on the GPU. It holds up calls at random, traced and timed ones, so that
an honest kernel can look like one that hides work (H100: a traced call of 22 ms, claims of 15, beside six programs)."""

from __future__ import annotations

from harness.devices import Telemetry
from harness.errors import MachineError
from harness.model.check import CheckName
from harness.sandbox.outcome import SolutionFailed

_OF_TIMES: frozenset[CheckName] = frozenset({"phases", "tail", "wall_clock", "idle_gpu"})


def excused(failed: SolutionFailed, telemetry: Telemetry | None = None) -> MachineError | None:
    """The machine's fault in place of the solution's, where nothing but times accuses and somebody else is on the GPU.
    Ask when all workers have ended: whoever is there then is none of them. `telemetry` is for tests."""
    checks = sorted({one.check for one in failed.failure.evidence})
    if not checks or not _OF_TIMES.issuperset(checks):
        return None
    with telemetry or Telemetry() as watching:
        if not watching.other_processes():
            return None
    return MachineError(
        "another program was on the GPU, so nothing can be said of the solution's times: end it, or evaluate on "
        f"another GPU ({', '.join(checks)}: {failed})"
    )
