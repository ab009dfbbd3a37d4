"""The conduct of a case's turns: under which conditions they run, when they may begin, what is looked at meanwhile."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from harness.devices import Watch
from harness.model.arms import Metric
from harness.sandbox.wire.device import Conditions

HOLD_NS = 900_000
"""A call's launches took the host 51 µs, one in a hundred over 453 and 676 at most (H100, one kernel a call, 1512
calls). Held for 300 µs, of which 170 are left when the call begins, 11 of 504 came too late; held for this long 2 of
1008. A device that is held for longer than a time slice (1.1 ms on an H100) can be given to another process meanwhile,
which could do the work: so it is held for longer only where a baseline has more to launch, and never for a solution
that has."""


class Conduct:
    """The conduct of a case that isn't timed: its turns begin at once, on an idle device, and nothing is looked at."""

    def conditions(self, metric: Metric | None = None) -> Conditions:
        """Return the conditions of the next turn, whichever arm takes it. `metric`: another than the headline's."""
        return Conditions()

    def late(self) -> Conditions:
        """Return the conditions of a timed turn, but with inputs that come late."""
        return Conditions(hold_ns=HOLD_NS, late_inputs=True)

    def settle(self) -> int | None:
        """Wait until nothing is left on the device that would slow the turn for which all lies ready; how long a fill
        of its memory takes then, in ns."""
        return None

    def watch(self, measured_pid: int) -> AbstractContextManager[Watch | None]:
        """Look at the device while a turn is taken, as Telemetry.watch() does."""
        return nullcontext()
