"""Times prove nothing while another program is on the GPU. It holds up calls at random, traced and timed ones, so that
an honest kernel can look like one that hides work (H100: a traced call of 22 ms, claims of 15, beside six programs)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.devices import Telemetry
from harness.errors import MachineError
from harness.model.check import CheckName
from harness.sandbox.outcome import SolutionFailed

_OF_TIMES: frozenset[CheckName] = frozenset({"phases", "tail", "wall_clock", "idle_gpu"})


@contextmanager
def excusing_company(telemetry: Telemetry | None = None) -> Iterator[Telemetry]:
    """Yield a telemetry that watches the GPU. Where nothing but times accuses the solution, and somebody else was on
    the GPU at any of its looks or is there at the end, the fault is the machine's. The argument is for tests.

    Raises: MachineError in place of SolutionFailed.
    """
    with telemetry or Telemetry() as watching:
        try:
            yield watching
        except SolutionFailed as failed:
            checks = sorted({one.check for one in failed.failure.evidence})
            if not checks or not _OF_TIMES.issuperset(checks):
                raise
            if not watching.other_processes() and not watching.had_company:
                raise
            raise MachineError(
                "another program was on the GPU, so nothing can be said of the solution's times: end it, or evaluate "
                f"on another GPU ({', '.join(checks)}: {failed})"
            ) from failed
