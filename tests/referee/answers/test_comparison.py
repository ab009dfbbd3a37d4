"""Outputs against the oracle, value by value."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from harness.model.check import Mismatch, OutputComparison, Tolerance
from harness.referee.answers import comparison as comparison_module
from harness.referee.answers.comparison import Comparison, comparison_of

EXACT = Tolerance(0.0, 0.0)
HALF = Tolerance(0.5, 0.0)
NAN, INF = math.nan, math.inf


def compare(got: Any, want: Any, tolerance: Tolerance = HALF, dtype: torch.dtype = torch.float32) -> OutputComparison:
    """One piece; the oracle's side is float64 where the output is of a floating dtype."""
    have = torch.as_tensor(got, dtype=dtype)
    wide = torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype
    return comparison_of(have, torch.as_tensor(want, dtype=wide), tolerance)


def test_equal_values_pass() -> None:
    assert compare([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]) == OutputComparison(
        (2, 2), "float32", Tolerance(0.5, 0.0), 4, 4, 0, 0.0, 0.0, 0.0
    )


def case(
    got: Any, want: Any, tolerance: Tolerance = HALF, dtype: torch.dtype = torch.float32, **found: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (got, want, tolerance, dtype), found


CASES = {
    "an error at the tolerance": case(
        [1.5, -2.5], [1.0, -2.0], mismatches=0, worst=1.0, max_abs_error=0.5, max_rel_error=0.5
    ),
    "an error beyond the tolerance": case(
        [1.0, 2.75, 3.0],
        [1.0, 2.0, 3.0],
        mismatches=1,
        worst=1.5,
        max_abs_error=0.75,
        max_rel_error=0.375,
        first_mismatches=(Mismatch((1,), 2.75, 2.0),),
    ),
    "the relative part grows with the wanted value": case(
        [5.0, -10.0], [4.0, -8.0], Tolerance(0.0, 0.25), mismatches=0
    ),
    "and shrinks with it": case([5.0, 0.75], [4.0, 0.5], Tolerance(0.0, 0.25), mismatches=1),
    "both parts of a tolerance add": case([6.5], [4.0], Tolerance(1.5, 0.25), worst=1.0),
    "a purely relative tolerance allows nothing at zero": case([1e-30], [0.0], Tolerance(0.0, 0.5), worst=INF),
    "float32 has no 16777217, and the oracle isn't rounded": case([16777216.0], [16777217.0], mismatches=1),
    "exact is what the dtype can hold": case([0.1, 16777216.0], [0.1, 16777217.0], EXACT, mismatches=0),
    "exact to the last bit": case(
        [1.0, 1.0 + 2**-23], [1.0, 1.0], EXACT, mismatches=1, worst=INF, max_abs_error=2**-23
    ),
    "minus zero is zero": case([-0.0], [0.0], EXACT, mismatches=0),
    "integers beyond what a double can tell": case([2**53 + 1], [2**53], EXACT, torch.int64, mismatches=1),
    "such integers are equal to themselves": case([2**53 + 1], [2**53 + 1], EXACT, torch.int64, mismatches=0),
    "the relative error of integers": case([110], [100], EXACT, torch.int32, max_rel_error=0.1),
    "small integers don't overflow": case([-128], [127], EXACT, torch.int8, max_abs_error=255.0),
    "booleans": case(
        [True, False], [True, True], EXACT, torch.bool, mismatches=1, first_mismatches=(Mismatch((1,), 0.0, 1.0),)
    ),
    "complex values by distance": case(
        [1 + 1j, 2j],
        [1 + 1j, 2 + 2j],
        Tolerance(1.0, 0.0),
        torch.complex64,
        mismatches=1,
        max_abs_error=2.0,
        worst=2.0,
    ),
    "a complex NaN in another place": case([complex(NAN, 0.0)], [1 + 0j], HALF, torch.complex64, mismatches=1),
    "an empty output": case(torch.zeros(0, 3), torch.zeros(0, 3), elements=0, compared=0, mismatches=0),
    "a scalar": case(3.0, 1.0, shape=(), elements=1, mismatches=1, first_mismatches=(Mismatch((), 3.0, 1.0),)),
}


@pytest.mark.parametrize(("given", "found"), CASES.values(), ids=CASES)
def test_values_are_held_to_the_tolerance(given: tuple[Any, ...], found: dict[str, Any]) -> None:
    result = compare(*given)
    assert {name: getattr(result, name) for name in found} == found
    assert result.passed is (result.mismatches == 0)


@pytest.mark.parametrize(
    ("got", "want", "told"),
    [
        (1 + 2j, 1 - 2j, "got 2, want -2 (imaginary part)"),
        (4 + 1j, 1 + 2j, "got 4, want 1 (real part)"),
        (complex(1, NAN), 3 + 1j, "got nan, want 1 (imaginary part)"),
    ],
)
@pytest.mark.parametrize("tolerance", [HALF, EXACT])
def test_of_a_complex_number_the_part_that_differs_most_is_told(
    got: complex, want: complex, told: str, tolerance: Tolerance
) -> None:
    """A wrong sign was told as 'got 6.46, want 6.46', which are the absolute values."""
    (mismatch,) = compare([got], [want], tolerance, torch.complex64).first_mismatches
    assert mismatch.values() == told


@pytest.mark.parametrize("tolerance", [HALF, EXACT])
def test_special_values_in_the_same_places_pass(tolerance: Tolerance) -> None:
    result = compare([NAN, INF, -INF, 1.0], [NAN, INF, -INF, 1.0], tolerance)
    assert (result.mismatches, result.compared, result.worst, result.max_abs_error) == (0, 4, 0.0, 0.0)


@pytest.mark.parametrize("tolerance", [HALF, EXACT, Tolerance(1e300, 1e300)])
@pytest.mark.parametrize(
    ("got", "want"),
    [(NAN, 1.0), (1.0, NAN), (INF, 1.0), (1.0, INF), (INF, -INF), (-INF, INF), (NAN, INF), (INF, NAN), (0.0, NAN)],
)
def test_a_special_value_in_another_place_fails(got: float, want: float, tolerance: Tolerance) -> None:
    result = compare([2.0, got], [2.0, want], tolerance)
    assert (result.mismatches, result.worst, result.max_abs_error) == (1, INF, INF)
    assert repr(result.first_mismatches) == repr((Mismatch((1,), got, want),))


@pytest.mark.parametrize(("want", "is_right"), [(65504.0, False), (65519.0, False), (65520.0, True), (-70000.0, False)])
def test_infinity_is_right_where_the_answer_is_beyond_the_dtype(want: float, is_right: bool) -> None:
    """float16 ends at 65504; what rounds beyond it is infinite in the reference too."""
    found = compare([INF], [want], Tolerance(1e-2, 1e-2), torch.float16)
    assert found.passed is is_right


def test_special_values_do_not_hide_the_relative_error_of_others() -> None:
    assert compare([INF, 6.0], [1.0, 4.0]).max_rel_error == INF
    assert compare([1.0, 6.0], [NAN, 4.0]).max_rel_error >= 0.5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_floating_dtype_is_compared_in_double(dtype: torch.dtype) -> None:
    result = compare([1.0, 2.0], [1.0, 4.0], dtype=dtype)
    assert (result.dtype, result.mismatches, result.max_abs_error) == (str(dtype)[6:], 1, 2.0)


@pytest.mark.parametrize("tolerance", [EXACT, Tolerance(10.0, 10.0)])
def test_integers_are_compared_exactly_whatever_the_tolerance(tolerance: Tolerance) -> None:
    result = compare([7, 9], [7, 8], tolerance, torch.int32)
    assert (result.mismatches, result.worst, result.max_abs_error) == (1, INF, 1.0)


def test_only_the_first_five_mismatches_are_kept() -> None:
    result = compare(torch.ones(3, 4), torch.zeros(3, 4))
    assert result.mismatches == 12
    assert [mismatch.index for mismatch in result.first_mismatches] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]


def test_pieces_add_up_and_indices_begin_at_their_origin() -> None:
    comparison = Comparison((6, 2), torch.float32, HALF)
    comparison.add(torch.zeros(3, 2), torch.zeros(3, 2, dtype=torch.float64), (0,))
    wrong = torch.tensor([[0.0, 3.0], [0.0, 0.0], [1.0, 0.0]])
    comparison.add(wrong, torch.zeros(3, 2, dtype=torch.float64), (3,))
    result = comparison.result()
    assert (result.elements, result.compared, result.mismatches, result.max_abs_error) == (12, 12, 2, 3.0)
    assert result.first_mismatches == (Mismatch((3, 1), 3.0, 0.0), Mismatch((5, 0), 1.0, 0.0))


@pytest.mark.parametrize("most", [1, 2, 3, 5, 6, 12, 23])
def test_chunks_find_what_the_whole_does(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    got, want = torch.zeros(2, 3, 4), torch.zeros(2, 3, 4)
    got[0, 2, 1], got[1, 0, 0], got[1, 2, 3] = 3.0, NAN, -1.0
    only = torch.ones(2, 3, 4, dtype=torch.bool)
    only[1, 0, 0] = False
    monkeypatch.setattr("harness.referee.answers.comparison._CHUNK", most)
    comparison = Comparison((5, 3, 4), torch.float32, HALF)
    comparison.add(got, want.double(), (3,), only)
    result = comparison.result()
    assert (result.compared, result.mismatches, result.max_abs_error, result.worst) == (23, 2, 3.0, 6.0)
    assert result.first_mismatches == (Mismatch((3, 2, 1), 3.0, 0.0), Mismatch((4, 2, 3), -1.0, 0.0))


def test_no_temporary_is_larger_than_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    compare_floats = comparison_module._compare_floats

    def watched(got: torch.Tensor, *rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
        seen.append(got.numel())
        return compare_floats(got, *rest)

    monkeypatch.setattr(comparison_module, "_CHUNK", 10)
    monkeypatch.setattr(comparison_module, "_compare_floats", watched)
    comparison = Comparison((3, 25), torch.float32, HALF)
    comparison.add(torch.full((3, 25), INF), torch.full((3, 25), INF))
    assert (max(seen), sum(seen)) == (10, 75)


@pytest.mark.parametrize("tolerance", [HALF, Tolerance(0.1, 0.5), Tolerance(0.3, 0.1, 0.4)])
@pytest.mark.parametrize("shape", [(), (7,), (4, 300), (3, 2, 5)])
def test_the_quick_way_finds_what_the_careful_one_finds(
    shape: tuple[int, ...], tolerance: Tolerance, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(0)
    want = torch.randn(shape, generator=generator).mul(10).round().double()
    got = (want + 0.09 * torch.rand(shape, generator=generator)).float()
    only = torch.rand(shape, generator=generator) < 0.7
    for mask in (None, only):
        quick, careful = (Comparison(shape, torch.float32, tolerance) for _ in range(2))
        assert comparison_module._worst_of_usual(got, want, tolerance, None) is not None
        quick.add(got, want, (), mask)
        with monkeypatch.context() as patched:
            patched.setattr(comparison_module, "_worst_of_usual", lambda *_: None)
            careful.add(got, want, (), mask)
        found = quick.result()
        assert (found.worst, found.max_rel_error) == (
            pytest.approx(careful.result().worst, rel=1e-12),
            pytest.approx(careful.result().max_rel_error, rel=1e-12),
        )
        assert found.max_abs_error == careful.result().max_abs_error > 0
        excess = comparison_module._errors(got, want, tolerance, None)[1]
        assert found.worst == pytest.approx(float(excess.max() if mask is None else excess[mask].max()), rel=1e-12)


@pytest.mark.parametrize(
    ("dtype", "special"), [(torch.float16, 1e6), (torch.complex64, complex(NAN, 1e9)), (torch.float32, -INF)]
)
def test_under_a_mask_errors_weigh_as_without_it(dtype: torch.dtype, special: complex) -> None:
    generator = torch.Generator().manual_seed(0)
    wide = torch.complex128 if dtype.is_complex else torch.float64
    want = torch.randn(8, 512, generator=generator, dtype=wide)
    want[3, 0] = special
    got = want.to(dtype)
    got[3, 5] += 0.5
    got[3, 9] = 0
    plain, masked = (Comparison((8, 512), dtype, Tolerance(1e-3, 1e-3, 1e-3)) for _ in range(2))
    plain.add(got, want)
    masked.add(got, want, (), torch.ones(8, 512, dtype=torch.bool))
    assert plain.result() == masked.result()
    assert plain.result().mismatches == 2


def test_a_mask_says_what_counts() -> None:
    got, want = torch.tensor([[1.0, NAN], [9.0, 4.0]]), torch.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=torch.float64)
    result = comparison_of(got, want, HALF, only=torch.tensor([[True, False], [False, True]]))
    assert (result.elements, result.compared, result.mismatches, result.max_abs_error) == (4, 2, 1, 1.0)
    assert result.first_mismatches == (Mismatch((1, 1), 4.0, 5.0),)


def test_a_transposed_output_is_compared_by_index() -> None:
    got = torch.arange(6.0).reshape(3, 2).t()
    assert comparison_of(got, got.contiguous().double(), HALF).passed


def test_the_first_chunk_with_an_error_of_enough_is_the_last_that_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison_module, "_CPU_CHUNK", 2)
    got, want = torch.tensor([1.0, 1.0, 3.0, 1.0, 9.0, 1.0]), torch.ones(6, dtype=torch.float64)
    for enough, compared in ((2.0, 4), (8.0, 6), (math.inf, 6)):
        assert comparison_of(got, want, HALF, enough=enough).compared == compared
