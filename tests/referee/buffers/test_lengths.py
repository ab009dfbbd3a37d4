"""How many calls turns have."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from harness.referee.buffers.slots import drawn_lengths, split


@pytest.mark.parametrize(
    ("most", "kinds"), [(1, [1, 1, 1, 1]), (2, [1, 1, 2, 2]), (3, [1, 2, 3, 3]), (5, [1, 3, 5, 5]), (8, [1, 4, 8, 8])]
)
def test_every_four_turns_have_all_kinds_of_lengths(most: int, kinds: list[int]) -> None:
    lengths = drawn_lengths(most, random.Random(2))
    fours = [tuple(islice(lengths, 4)) for _ in range(30)]
    assert all(sorted(four) == kinds for four in fours)
    assert most == 1 or len(set(fours)) > 2  # their order is drawn


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("count", [0, 1, 4, 7])
def test_other_turns_have_the_same_kinds(most: int, count: int) -> None:
    for seed in range(20):
        lengths = split(count, most, random.Random(seed))
        assert sum(lengths) == count
        assert set(lengths) <= {1, (most + 1) // 2, most}
