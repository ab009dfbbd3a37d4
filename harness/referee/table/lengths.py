"""How many calls the turns have: drawn, from the same lengths for correctness and for timing."""

from __future__ import annotations

import random
from collections.abc import Iterator


def drawn_lengths(most: int, rng: random.Random) -> Iterator[int]:
    """Endless: of four turns two have `most` calls, one has half as many, and one a single call, in random order.

    The wall clock over turns of different lengths shows what a call costs, whatever a turn costs besides.
    """
    while True:
        four = [most, most, half(most), 1]
        rng.shuffle(four)
        yield from four


def half(most: int) -> int:
    return (most + 1) // 2


def split(count: int, most: int, rng: random.Random) -> list[int]:
    """Lengths of those kinds that add up to `count`."""
    lengths = []
    while count:
        possible = sorted({length for length in (most, half(most), 1) if length <= count})
        lengths.append(rng.choice(possible[-2:]))
        count -= lengths[-1]
    return lengths
