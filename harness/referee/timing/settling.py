"""Waiting until the driver has cleared what was freed of the device's memory, before a turn begins.

What a process frees the driver clears in the background, with bandwidth that whoever runs next lacks, and that falls on
some arms and not on others. (H100, driver 580: 17 GB are cleared in 45 ms, in which fills take 15 % longer and a read
of as much 18 to 24 %. Where memory was scarce and the referee gave 17 GB back before each turn, that fell on turns of
the baseline, and not on the solution's, which began a little later: equal arms, 5 % apart. NVIDIA's open kernel modules
call it `scrub on free`.) And a solution that frees memory as its turn ends would slow its rivals.
"""

from __future__ import annotations

import time
from collections.abc import Callable

BUSY = 1.05
"""A fill that takes so many times as long as the quickest has company. (On an H100 at rest 500 of them lay within 3 %,
whether the device had rested before or not.)"""
_LONGEST_S = 0.5
_SHORT_S = 0.02
_STEADY_S = 0.1
_MOST_IN_VAIN = 6
"""The most waits in vain in a row. After so many, as on a device that draws a screen, they are short until one helps.
"""


def still_fill_ns(quickest_ns: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> int:
    """Measure how long a fill takes on a device at rest: the least, once none was quicker for a tenth of a second."""
    least, until = quickest_ns(), clock() + _STEADY_S
    while clock() < until:
        if (found := quickest_ns()) < least:
            least, until = found, clock() + _STEADY_S
    return least


class Settling:
    """Waits for one device. `quickest_ns`: how long a fill takes now, at best; `still_ns`: how long it does at rest, if
    known beforehand."""

    def __init__(
        self, quickest_ns: Callable[[], int], still_ns: int | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` is for tests."""
        self._quickest_ns = quickest_ns
        self._still_ns = still_ns or quickest_ns()
        self._clock = clock
        self._in_vain = 0

    def wait(self) -> int:
        """Wait until a fill takes as long as at rest, or the time is over; return how long it took at last."""
        until = self._clock() + (_LONGEST_S if self._in_vain < _MOST_IN_VAIN else _SHORT_S)
        while (found := self._quickest_ns()) > BUSY * self._still_ns:
            if self._clock() >= until:
                self._in_vain += 1
                return found
        self._in_vain = 0
        self._still_ns = min(found, self._still_ns)
        return found
