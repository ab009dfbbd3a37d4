"""Slots for calls, on a GPU of 85 GB."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.arms import BASELINES, ReferenceArm
from harness.referee.answers.reference import Reference
from harness.referee.buffers.slots import Capacity
from tests.referee.answers.test_rows import unclaimed

TOTAL = 85_000_000_000


@pytest.mark.parametrize(
    ("input_bytes", "output_bytes", "references", "slots"),
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
def test_slots_leave_the_arms_and_the_oracle_their_memory(
    input_bytes: int, output_bytes: int, references: tuple[ReferenceArm, ...], slots: int
) -> None:
    assert Capacity(5, references).affordable(input_bytes, output_bytes, TOTAL, TOTAL).count == slots


def test_memory_that_others_hold_is_not_there() -> None:
    capacity = Capacity(5, ("eager",))
    assert capacity.affordable(2_147_483_648, 2_139_103_232, 36_000_000_000, TOTAL).count == 4


def test_slots_leave_room_for_an_oracle_that_does_all_in_one_piece() -> None:
    """The mean of squares over two inputs of 4 GiB, level 1 no. 94: in float64 four times as much."""
    given, call = 8_589_934_592, 8_589_934_592
    capacity = Capacity(3, ("eager", "control"))
    assert capacity.affordable(given, 4, TOTAL, TOTAL, call, in_pieces=True).count == 3
    assert capacity.affordable(given, 4, TOTAL, TOTAL, call, in_pieces=False).count == 1
    assert capacity.affordable(given // 16, 4, TOTAL, TOTAL, call // 16, in_pieces=False).count == 3


@pytest.mark.parametrize(
    ("input_gib", "output_gib", "call_gib", "total_gib", "is_short"),
    [
        (7, 7, 7, 80, False),  # instance normalisation, level 1 no. 34
        (7, 7, 7, 40, True),
        (1, 8, 8, 24, True),  # convolution, level 1 no. 63
        (1, 8, 8, 80, False),
        (1, 1, 20, 80, False),
        (1, 1, 20, 40, True),
    ],
)
def test_slots_are_short_where_two_arms_can_t_both_keep_what_they_cached(
    input_gib: int, output_gib: int, call_gib: int, total_gib: int, is_short: bool
) -> None:
    capacity = Capacity(5, BASELINES)
    gib = 2**30
    slots = capacity.affordable(input_gib * gib, output_gib * gib, total_gib * gib, total_gib * gib, call_gib * gib)
    assert slots.is_short is is_short


@pytest.mark.parametrize(
    ("input_bytes", "output_bytes"), [(17_179_869_184, 141_705_216), (1_073_741_824, 8_556_380_160)]
)
def test_arms_that_can_be_left_out_make_no_slots_short(input_bytes: int, output_bytes: int) -> None:
    assert not Capacity(5, BASELINES).affordable(input_bytes, output_bytes, TOTAL, TOTAL).is_short


@pytest.mark.parametrize(("piece_bytes", "in_pieces"), [(64, True), (2**20, False)])
def test_an_oracle_that_takes_all_rows_at_once_is_given_the_memory_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int, in_pieces: bool
) -> None:
    setting, inputs = unclaimed(tmp_path, "return torch.relu(x)")
    assert setting.oracle.rows(inputs)
    setting.oracle._budget = piece_bytes
    monkeypatch.setattr(Reference, "on_gpu", True)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (TOTAL, TOTAL))
    asked = []
    monkeypatch.setattr(Capacity, "affordable", lambda self, *given: asked.append(given[-1]))
    Capacity().slots(setting, inputs)
    assert asked == [in_pieces]
