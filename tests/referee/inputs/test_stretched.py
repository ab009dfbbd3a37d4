"""Periodic inputs: their rows, and what they are stretched from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from harness.referee.inputs.stretched import PeriodicInput, periodic_input, stretched_inputs
from harness.sandbox.outcome import SolutionFailed
from tests.problem_text import problem_text
from tests.referee.in_process import setting_of
from tests.referee.test_correctness import DOUBLE


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (1, 3), (2, 5), (0, 5)])
def test_rows_are_the_stretch_over_and_over(start: int, stop: int) -> None:
    values = PeriodicInput(torch.arange(7.0), (5, 2, 4))
    whole = torch.arange(40).remainder(7).float().reshape(5, 2, 4)
    assert torch.equal(values.rows(start, stop), whole[start:stop])
    assert values.nbytes == 160


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_rows_of_another_layout_are_those_that_its_memory_holds(order: tuple[int, int, int]) -> None:
    spec = torch.empty([(5, 2, 4)[n] for n in order], device="meta").permute([order.index(n) for n in range(3)])
    memory = torch.arange(40).remainder(7).float()
    whole = memory.as_strided(spec.shape, spec.stride())
    values = PeriodicInput(torch.arange(7.0), tuple(spec.shape), () if spec.is_contiguous() else spec.stride())
    assert torch.equal(values.rows(1, 4), whole[1:4])


def test_a_row_beyond_32_bits_is_found_by_its_index() -> None:
    values = PeriodicInput(torch.arange(5), (2**33, 4))
    assert values.rows(2**32, 2**32 + 1).tolist() == [[4, 0, 1, 2]]  # 2³⁴ leaves 4 when divided by 5


def test_drawn_values_are_repeated_over_a_prime_number_of_pages() -> None:
    made = periodic_input(torch.tensor([[1.0, 2.0, 3.0]]), (100, 100), page_bytes=8)
    assert made.stretch.numel() == 4099 * 8 // 4
    assert made.stretch[:4].tolist() == [1.0, 2.0, 3.0, 1.0]
    assert made.shape == (100, 100)


def test_a_stretch_is_no_view_of_what_was_drawn() -> None:
    drawn = torch.ones(3)
    made = periodic_input(drawn, (4,), page_bytes=4)
    drawn.zero_()
    assert made.stretch.min() == 1.0


def test_lists_that_are_longer_at_the_full_shape_are_drawn_there(tmp_path: Path) -> None:
    text = problem_text(
        "sum(layers)", "[torch.rand(4, 8) for _ in range(count)]", constants="count = 3", given="layers"
    )
    setting = setting_of(tmp_path, text, "cases: {small: {constants: {count: 2}}}\n")
    drawn = stretched_inputs(setting, 3)
    assert [one.shape for one in drawn] == [(4, 8)] * 3


def test_offsets_are_those_of_the_full_shape(tmp_path: Path) -> None:
    """A small case's, repeated, would fall."""
    source = DOUBLE.replace("torch.rand(rows, columns)", "torch.rand(rows, columns), torch.arange(rows + 1)")
    setting = setting_of(
        tmp_path, source.replace("(self, x)", "(self, x, offsets)"), "cases: {small: {constants: {rows: 2}}}\n"
    )
    x, offsets = stretched_inputs(setting, 3)
    assert isinstance(x, PeriodicInput)
    assert offsets.rows(0, 7).tolist() == list(range(7))


CAN_BE_HAD = {
    "torch.arange(rows)": True,
    "torch.arange(rows), (torch.arange(rows) > 2).float()": True,
    "torch.arange(rows), 2 * torch.ones(rows)": True,
    "torch.arange(rows), torch.ones(rows).cumsum(0)": False,
    "torch.arange(rows), torch.rand(rows, 8).sort(1)[0]": False,
    "x[:, 0].long()": False,
    "torch.full((rows, 2**20), 3)": False,
    "torch.arange(rows), torch.arange(rows) * x[:, 0]": False,
}


@pytest.mark.parametrize("others", list(CAN_BE_HAD))
def test_indices_are_drawn_beside_numbers_that_take_too_much_memory(tmp_path: Path, others: str) -> None:
    """What follows from them as well: a mask that the small case's is stretched to would contradict them."""
    inputs = f"(x := torch.rand(rows, 2**20)), {others}"
    given = "x, i, mask" if others.startswith("torch.arange(rows), ") else "x, i"
    text = problem_text("x * i.sum()", inputs, constants="rows = 5000", given=given)
    setting = setting_of(tmp_path, text, "cases: {small: {constants: {rows: 2}}}\n")
    if CAN_BE_HAD[others]:
        x, i, *mask = stretched_inputs(setting, 3)
        assert (x.shape, i.rows(4990, 5000).tolist()) == ((5000, 2**20), list(range(4990, 5000)))
        assert all(one.rows(0, 5).tolist() in ([0, 0, 0, 1, 1], [2] * 5) for one in mask)
    else:
        with pytest.raises(SolutionFailed, match="too large"):
            stretched_inputs(setting, 3)


def test_beside_indices_everything_is_this_shape_s_own_where_memory_allows(tmp_path: Path) -> None:
    inputs = "torch.rand(rows, 512).cumsum(1), (i := torch.arange(rows) % 7), (torch.arange(512) < i[:, None]).float()"
    text = problem_text("x * mask", inputs, constants="rows = 9000", given="x, i, mask")
    x, i, mask = stretched_inputs(setting_of(tmp_path, text, "cases: {small: {constants: {rows: 5}}}\n"), 3)
    assert mask.rows(0, 9000).sum(1).tolist() == i.rows(0, 9000).tolist()
    assert (x.rows(0, 9000).diff(dim=1) >= 0).all()
