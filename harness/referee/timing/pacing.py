"""Under which conditions the calls of the timed case are measured: the same for all arms, so that they compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from harness.backends.base import MADE_TWICE, Conditions
from harness.protocol.messages import CallTaken
from harness.records.arms import ArmName, Metric

_HEAT_NS = 30_000_000
"""After a rest the first 15 to 20 ms of memory traffic run slower (H100: a kernel that reads 17 GB took 6.82, 6.81,
6.54, 5.91, 5.91 ms one call after another)."""
_HOLD_NS = 300_000
"""A call's launches take the host 20 to 100 µs, and up to 240 after a pause (H100, torch's eager operators)."""
_GROWTH = 3
_MOST_HOLD_NS = 900_000
"""Whose host needs longer than that waits for the device himself, or is no fast kernel's. And a device that is held
for longer than a time slice (1.1 ms on an H100) can be given to another process meanwhile, which could do the work."""


class Pacing:
    """Starts as gpu_cold, unless told otherwise, with the device held for a short while. Where launches come too late
    for it, that grows; where they do however long it is, some arm waits for the device before it returns, and all are
    measured end to end."""

    def __init__(self, metric: Literal["gpu_cold", "end_to_end"] = "gpu_cold") -> None:
        self._hold_ns = _HOLD_NS
        self._begun: set[ArmName] = set()
        self._is_settled = False
        self.metric: Literal["gpu_cold", "end_to_end"] = metric

    def conditions(self, metric: Metric | None = None) -> Conditions:
        """`metric`: another than the headline's."""
        metric = metric or self.metric
        return Conditions(metric, _HEAT_NS, self._hold_ns, late_inputs=metric in MADE_TWICE)

    def settle(self) -> None:
        """From now on nothing changes: samples of two metrics are never mixed, and a turn's wall-clock time, of which
        holds are a part, says what a call costs only while they stay the same."""
        self._is_settled = True

    def note(self, arm: ArmName, calls: Sequence[CallTaken]) -> bool:
        """What a turn of the arm under these conditions showed; whether later ones have other conditions.

        Any call whose launches come too late makes the hold grow, as later ones would have no cure; of an arm's first
        turn, in which kernels are brought to the device, only most of them do.

        A worker's word on this can do no more than have all arms measured otherwise.
        """
        late = sum(call.queued is False for call in calls)
        is_first = arm not in self._begun
        self._begun.add(arm)
        are_most = 2 * late > len(calls)
        if self._is_settled or not late or (is_first and not are_most):
            return False
        if self._hold_ns < _MOST_HOLD_NS:
            self._hold_ns *= _GROWTH
            return True
        if self.metric == "end_to_end" or not are_most or is_first:
            return False
        self.metric = "end_to_end"
        return True
