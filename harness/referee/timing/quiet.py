"""Whether the device's memory is at rest when a turn begins.

What a process frees the driver clears in the background, with bandwidth that whoever runs next lacks, and that falls on
some arms and not on others. (H100, driver 580: where memory was scarce and the referee gave 17 GB back before each
turn, avg_pool2d over 17 GB took 6.3 to 6.7 ms instead of 6.26, but never in turns of the solution, which begin a little
later: equal arms, 5 % apart. NVIDIA's open kernel modules call it `scrub on free`.) And a solution that frees memory as
its turn ends would slow its rivals.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_BUSY = 1.03
"""A fill that takes so many times as long as the quickest of late has company."""
_REMEMBERED = 24
"""Turns: a device that is slower for good, since it is hot, is so for no longer than these."""
_LONGEST_S = 0.5
_PAUSE_S = 0.002
_MOST_IN_VAIN = 12
"""Where waiting so often hasn't helped it won't: on a device that draws a screen, say. From then on it is looked at
once a turn."""


class Quiet:
    """Waits for one device. `quickest_ns`: how long a fill takes now, at best."""

    def __init__(
        self,
        quickest_ns: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`clock` and `pause` are for tests."""
        self._quickest_ns = quickest_ns
        self._clock = clock
        self._pause = pause
        self._of_late: deque[int] = deque(maxlen=_REMEMBERED)
        self._in_vain = 0

    def wait(self) -> bool:
        """Until a fill is as quick as ever of late, or half a second is over; whether it is."""
        until = self._clock() + _LONGEST_S
        found = self._quickest_ns()
        self._of_late.append(found)
        while found > _BUSY * min(self._of_late):
            if self._in_vain >= _MOST_IN_VAIN:
                return False
            if self._clock() >= until:
                self._in_vain += 1
                return False
            self._pause(_PAUSE_S)
            found = self._quickest_ns()
        self._of_late[-1] = found
        return True
