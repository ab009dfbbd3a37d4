"""Waiting until the device's memory is at rest, before a turn begins.

What a process frees the driver clears in the background, with bandwidth that whoever runs next lacks, and that falls on
some arms and not on others. (H100, driver 580: where memory was scarce and the referee gave 17 GB back before each
turn, avg_pool2d over 17 GB took 6.3 to 6.7 ms instead of 6.26, but never in turns of the solution, which began a little
later: equal arms, 5 % apart. NVIDIA's open kernel modules call it `scrub on free`.) And a solution that frees memory as
its turn ends would slow its rivals.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

BUSY = 1.02
"""A fill that takes so many times as long as the quickest of late has company."""
_REMEMBERED = 24
"""Turns: a device that is slower for good, since it is hot, is so for no longer than these."""
_LONGEST_S = 0.5
_SHORT_S = 0.02
_STEADY_S = 0.1
_MOST_IN_VAIN = 6
"""In a row. Where waiting hasn't helped so often, on a device that draws a screen, say, waits are short until one
does."""


def still_fill_ns(quickest_ns: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> int:
    """How long a fill takes on a device at rest: the least, once for a tenth of a second none has been quicker."""
    least, until = quickest_ns(), clock() + _STEADY_S
    while clock() < until:
        if (found := quickest_ns()) < least:
            least, until = found, clock() + _STEADY_S
    return least


class Quiet:
    """Waits for one device. `quickest_ns`: how long a fill takes now, at best; asked again and again, without a rest,
    after which memory is slower for a while."""

    def __init__(self, quickest_ns: Callable[[], int], clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` is for tests."""
        self._quickest_ns = quickest_ns
        self._clock = clock
        self._of_late: deque[int] = deque(maxlen=_REMEMBERED)
        self._in_vain = 0

    def wait(self) -> int:
        """How long a fill takes at last: as long as ever of late, or the time is over."""
        until = self._clock() + (_LONGEST_S if self._in_vain < _MOST_IN_VAIN else _SHORT_S)
        found = self._quickest_ns()
        self._of_late.append(found)
        while found > BUSY * min(self._of_late):
            if self._clock() >= until:
                self._in_vain += 1
                return found
            found = self._quickest_ns()
        self._in_vain = 0
        self._of_late[-1] = found
        return found
