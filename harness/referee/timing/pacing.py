"""Under which conditions the calls of the timed case are measured: the same for all arms, so that they compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from harness.model.arms import ArmName, Metric
from harness.sandbox.wire.device import MADE_TWICE, Conditions
from harness.sandbox.wire.messages import CallTaken

HOLD_NS = 900_000
"""A call's launches took the host 51 µs, one in a hundred over 453 and 676 at most (H100, one kernel a call, 1512
calls). Held for 300 µs, of which 170 are left when the call begins, 11 of 504 came too late; held for this long 2 of
1008. A device that is held for longer than a time slice (1.1 ms on an H100) can be given to another process meanwhile,
which could do the work: so it is held for longer only where a baseline has more to launch, and never for a solution
that has."""
_LONGER = 4
_LONGEST_NS = 16 * HOLD_NS
"""For some two thousand launches of 7 µs."""
_TOO_OFTEN = 3
"""Turns of an arm in a row: in the first one kernels are brought to the device, and any may be held up by accident."""


class Pacing:
    """Starts as gpu_cold, unless told otherwise. Where a baseline's launches come too late for the hold time and again,
    the device is held for longer before the calls of all arms. An arm whose launches still do, and a solution whose
    launches do at all, waits for the device before it returns, or launches very much: all are measured end to end."""

    def __init__(self, metric: Literal["gpu_cold", "end_to_end"] = "gpu_cold") -> None:
        self._late_turns: dict[ArmName, int] = {}
        self._is_settled = False
        self._hold_ns = HOLD_NS
        self.metric: Literal["gpu_cold", "end_to_end"] = metric

    def conditions(self, metric: Metric | None = None) -> Conditions:
        """`metric`: another than the headline's."""
        metric = metric or self.metric
        return Conditions(metric, self._hold_ns, late_inputs=metric in MADE_TWICE)

    def settle(self) -> None:
        """From now on nothing changes: samples of two metrics are never mixed."""
        self._is_settled = True

    def note(self, arm: ArmName, calls: Sequence[CallTaken]) -> bool:
        """What a turn of the arm under these conditions showed; whether its times say little of later ones, since most
        of its launches came too late.

        A worker's word on this can do no more than have all arms measured otherwise.
        """
        if self._is_settled or self.metric == "end_to_end":
            return False
        are_most = 2 * sum(call.queued is False for call in calls) > len(calls)
        self._late_turns[arm] = self._late_turns.get(arm, 0) + 1 if are_most else 0
        if self._late_turns[arm] >= _TOO_OFTEN:
            self._hold_longer_for(arm)
        return are_most

    def _hold_longer_for(self, arm: ArmName) -> None:
        if arm != "solution" and self._hold_ns < _LONGEST_NS:
            self._hold_ns *= _LONGER
            self._late_turns.clear()
        else:
            self._hold_ns = HOLD_NS
            self.metric = "end_to_end"
