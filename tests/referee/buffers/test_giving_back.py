"""When the referee gives the GPU's memory back to the workers."""

from __future__ import annotations

import pytest

from harness.referee.buffers.case_turns import is_to_be_given_back

GIB = 2**30


@pytest.mark.parametrize(
    ("cached", "inputs", "free", "given_back"),
    [
        (40, 16, 30, False),  # there is plenty
        (16, 16, 20, False),  # what the next inputs take would be taken again at once
        (19, 16, 20, False),
        (21, 16, 20, True),  # beside it lies what judging took
        (1, 0, 20, True),
        (16, 16, 6, True),  # the last that there is
    ],
)
def test_what_the_next_inputs_take_is_kept_unless_memory_ends(
    cached: int, inputs: int, free: int, given_back: bool
) -> None:
    assert is_to_be_given_back(cached * GIB, inputs * GIB, free * GIB, 80 * GIB) is given_back
