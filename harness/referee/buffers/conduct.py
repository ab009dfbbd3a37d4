"""The conduct of a case's turns: under which conditions they run, when they may begin, what is looked at meanwhile."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from harness.devices import Watch
from harness.model.arms import Metric
from harness.sandbox.wire.device import HOLD_NS, Conditions


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
