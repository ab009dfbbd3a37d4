"""Places at a table, on a GPU of 85 GB."""

from __future__ import annotations

import pytest

from harness.records.arms import BASELINES, ReferenceArm
from harness.referee.table.size import TableSize

TOTAL = 85_000_000_000


@pytest.mark.parametrize(
    ("input_bytes", "output_bytes", "references", "places"),
    [
        (2_147_483_648, 2_139_103_232, ("eager", "control"), 5),  # maxpool2d
        (17_179_869_184, 141_705_216, ("eager", "control"), 2),  # avgpool2d
        (1_073_741_824, 8_556_380_160, ("eager",), 3),  # conv2d_square
        (1_073_741_824, 8_556_380_160, ("eager", "control"), 3),
        (1_073_741_824, 8_556_380_160, BASELINES, 1),
        (17_179_869_184, 141_705_216, BASELINES, 1),
        (268_435_456, 520_192_000, BASELINES, 5),  # conv2d_asymmetric
        (60_000_000_000, 1_000, ("eager",), 1),
        (0, 0, (), 5),
    ],
)
def test_places_leave_the_arms_and_the_oracle_their_memory(
    input_bytes: int, output_bytes: int, references: tuple[ReferenceArm, ...], places: int
) -> None:
    assert TableSize(5, references).affordable(input_bytes, output_bytes, TOTAL, TOTAL) == places


def test_memory_that_others_hold_is_not_there() -> None:
    size = TableSize(5, ("eager",))
    assert size.affordable(2_147_483_648, 2_139_103_232, 36_000_000_000, TOTAL) == 4
