"""The time for which the device is held while timed calls are launched: the same for all arms, so that they compare."""

from __future__ import annotations

from typing import Literal

from harness.model.arms import ArmName, Metric
from harness.model.timing import Turn
from harness.sandbox.wire.device import HOLD_NS, MADE_TWICE, Conditions

_LONGER = 4
_LONGEST_NS = 16 * HOLD_NS
"""The longest hold, for some two thousand launches of 7 µs."""
_TOO_OFTEN = 3
"""Turns of an arm in a row: in the first one kernels are brought to the device, and any may be held up by accident."""


class LaunchHold:
    """Starts as gpu_cold, unless told otherwise. Where a baseline's launches come too late for the hold time and again,
    the device is held for longer before the calls of all arms. An arm whose launches still do, and a solution whose
    launches do at all, waits for the device before it returns, or launches very much: all are measured end to end."""

    def __init__(self, metric: Literal["gpu_cold", "end_to_end"] = "gpu_cold") -> None:
        self._late_turns: dict[ArmName, int] = {}
        self._is_settled = False
        self._hold_ns = HOLD_NS
        self.metric: Literal["gpu_cold", "end_to_end"] = metric

    def conditions(self, metric: Metric | None = None) -> Conditions:
        """Return the conditions of a turn. `metric`: another than the headline's."""
        metric = metric or self.metric
        return Conditions(metric, self._hold_ns, late_inputs=metric in MADE_TWICE)

    def settle(self) -> None:
        """Change nothing from now on: samples of two metrics are never mixed."""
        self._is_settled = True

    def is_late(self, turn: Turn) -> bool:
        """Say whether most of a turn's launches came too late for a hold that may still change, so that its times say
        little of later ones."""
        return not self._is_settled and 2 * turn.queued.count(False) > len(turn.call_ns)

    def note(self, turn: Turn) -> None:
        """Learn from a turn that was taken under these conditions.

        A worker's word on this can do no more than have all arms measured otherwise.
        """
        if self._is_settled or self.metric == "end_to_end":
            return
        arm = turn.arm
        self._late_turns[arm] = self._late_turns.get(arm, 0) + 1 if self.is_late(turn) else 0
        if self._late_turns[arm] >= _TOO_OFTEN:
            self._hold_longer_for(arm)

    def _hold_longer_for(self, arm: ArmName) -> None:
        if arm != "solution" and self._hold_ns < _LONGEST_NS:
            self._hold_ns *= _LONGER
            self._late_turns.clear()
        else:
            self._hold_ns = HOLD_NS
            self.metric = "end_to_end"
