"""The wrong answers themselves: each is what its name says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.referee.answers.roundings import ROUNDINGS
from harness.referee.mutants.mutants import LEFT_OUT, OF_THE_ANSWER, OTHER_WEIGHTS, Specimen
from tests.machine import ROOT

BY_NAME = {mutant.name: mutant for mutant in OF_THE_ANSWER}
WANT = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def answer(name: str, want: Any = WANT, inputs: Any = None, dtype: torch.dtype = torch.float32) -> Any:
    """As nested lists; None where the mutant doesn't fit."""
    right = torch.tensor(want, dtype=dtype)
    specimen = Specimen(
        setting=SimpleNamespace(),  # type: ignore[arg-type]
        inputs=[torch.tensor(inputs if inputs is not None else want)],
        want=(right,),
        other_inputs=[],
        other_want=(right.clone(),) if name != "stale" else (right + 1,),
    )
    given = BY_NAME[name].answers(specimen)
    assert given is not None
    return None if given[0] is None else given[0].tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("zeros", [[0, 0, 0], [0, 0, 0]]),
        ("ones", [[1, 1, 1], [1, 1, 1]]),
        ("mean", [[3.5, 3.5, 3.5], [3.5, 3.5, 3.5]]),
        ("input_returned", WANT),
        ("stale", [[2, 3, 4], [5, 6, 7]]),
        ("last_column", [[1, 2, 0], [4, 5, 0]]),
        ("last_row", [[1, 2, 3], [0, 0, 0]]),
        ("last_item", [[1, 2, 3], [0, 0, 0]]),
        ("last_tile", [[1, 2, 3], [4, 5, 0]]),
        ("off_by_one", [[3, 1, 2], [6, 4, 5]]),
        ("mixed_up", [[4, 5, 6], [1, 2, 3]]),
        ("sign", [[-1, -2, -3], [-4, -5, -6]]),
        ("starts_at_zero", WANT),
    ],
)
def test_a_mutant_is_what_it_says(name: str, expected: list[list[float]]) -> None:
    assert answer(name) == expected


def test_every_mutant_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(OF_THE_ANSWER)


def test_negative_values_become_zero_and_nan_stays() -> None:
    clamped = answer("starts_at_zero", [-1.0, 2.0, float("nan")])
    assert clamped[:2] == [0.0, 2.0]
    assert clamped[2] != clamped[2]


def test_one_element_is_off_by_a_percent_of_what_is_larger_its_size_or_the_outputs() -> None:
    """Root mean square of 3, 4, 0, 0: 2.5."""
    assert answer("one_element", [3.0, 4.0, 0.0, 0.0], dtype=torch.float64) == [3.0, 4.0, 0.025, 0.0]
    assert answer("last_element", [0.0, 0.0, 3.0, 4.0], dtype=torch.float64) == [0.0, 0.0, 3.0, 4.04]
    assert answer("last_element", [0.0, 0.0]) == [0.0, pytest.approx(0.01)]


def test_half_precision_is_given_more_room() -> None:
    assert answer("last_element", [2.0, 2.0], dtype=torch.float16) == [2.0, pytest.approx(2.2, abs=1e-3)]
    assert answer("last_element", [2.0, 2.0], dtype=torch.bfloat16) == [2.0, pytest.approx(2.8, abs=1e-2)]


def test_integers_are_one_off_and_truths_are_false() -> None:
    assert answer("last_element", [1, 2], dtype=torch.int64) == [1, 3]
    assert answer("last_element", [True, True], dtype=torch.bool) == [True, False]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16, torch.uint32, torch.uint64])
def test_integers_without_a_sign_are_one_off_and_have_no_other_sign(dtype: torch.dtype) -> None:
    """torch adds, negates and clamps the wider ones nowhere."""
    most = min(torch.iinfo(dtype).max, 2**63 - 1)
    assert answer("last_element", [1, most], dtype=dtype) == [1, most - 1]
    assert answer("sign", [1, most], dtype=dtype) is None
    assert answer("starts_at_zero", [1, most], dtype=dtype) is None


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([[9.0, 8.0], [7.0, 6.0], [5.0, 4.0]], [[9, 8, 0], [7, 6, 0]]),
        ([9.0, 8.0], [[9, 8, 0], [0, 0, 0]]),
        ([9.0] * 10, [[9, 9, 9], [9, 9, 9]]),
    ],
)
def test_an_input_of_another_shape_is_cropped_or_filled_up(inputs: Any, expected: Any) -> None:
    assert answer("input_returned", inputs=inputs) == expected


@pytest.mark.parametrize(
    ("name", "want", "dtype"),
    [
        ("last_row", [1.0, 2.0], torch.float32),
        ("last_column", 3.0, torch.float32),
        ("off_by_one", [[1.0], [2.0]], torch.float32),
        ("mixed_up", [[1.0, 2.0]], torch.float32),
        ("mean", 3.0, torch.float32),
        ("mean", [1, 2], torch.int64),
        ("sign", [True], torch.bool),
        ("starts_at_zero", [1 + 2j], torch.complex64),
        ("zeros", [], torch.float32),
    ],
)
def test_a_mutant_that_does_not_fit_is_left_out(name: str, want: Any, dtype: torch.dtype) -> None:
    assert answer(name, want, dtype=dtype) is None


def test_tf32_keeps_ten_bits_of_the_mantissa() -> None:
    values = torch.tensor([1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, 1e30, -1 - 2**-12, float("inf"), float("nan")])
    rounded = ROUNDINGS["tf32"](values).tolist()
    assert rounded[:3] == [1 + 2**-10, 1 + 2**-10, 1 + 2**-9]
    assert rounded[3] == pytest.approx(1e30, rel=2**-11)
    assert rounded[4:6] == [-1.0, float("inf")]
    assert rounded[6] != rounded[6]


def test_float16_overflows_where_tf32_does_not() -> None:
    large = torch.tensor([2.0**20])
    assert ROUNDINGS["float16"](large).tolist() == [float("inf")]
    assert ROUNDINGS["tf32"](large).tolist() == [2.0**20]


def test_the_document_names_every_mutant() -> None:
    text = (ROOT / "docs" / "problems.md").read_text(encoding="utf-8")
    others = [*ROUNDINGS, OTHER_WEIGHTS.name, LEFT_OUT.name, "input_N_ignored"]
    assert [name for name in [*BY_NAME, *others] if f"`{name}`" not in text] == []
