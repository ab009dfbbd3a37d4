"""Judging the form of what came back, and putting findings into words."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from harness.model.check import Mismatch, Tolerance
from harness.model.verdict import Verdict
from harness.referee.answers.output_spec import OutputSpec
from harness.referee.judgement import (
    describe_finding,
    describe_mismatch,
    failure_of,
    fault_among,
    judge_form,
    judge_sharing,
    keeps_output,
)
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import Finding
from harness.sandbox.wire.messages import CallTaken, OutputForm
from harness.sandbox.wire.structure import unpack
from tests.examples import check, comparison
from tests.wording import tells

ONE = OutputSpec("tensor", (torch.float32,), ((2, 3),))
TWO = OutputSpec("tuple", (torch.float32, torch.int64), ((2, 3), ()))


def test_outputs_have_so_many_bytes_together() -> None:
    assert (ONE.nbytes, TWO.nbytes) == (24, 32)


def form(**changes: Any) -> OutputForm:
    return OutputForm(**{"type_name": None, "dtype": "float32", "shape": (2, 3), "device": "cuda", **changes})


def taken(structure: str, *outputs: OutputForm, shares: str | None = None) -> CallTaken:
    return CallTaken(structure, outputs, None, None, shares)


def test_the_right_form_goes_through() -> None:
    judge_form(taken("tensor", form()), ONE)
    judge_form(taken("tuple", form(), form(dtype="int64", shape=())), TWO)


@pytest.mark.parametrize(
    ("reply", "spec", "verdict", "reason"),
    [
        (
            taken("tuple", form()),
            ONE,
            Verdict.WRONG_OUTPUT_TYPE,
            "returned a tuple of 1 where the reference returns a tensor",
        ),
        (taken("NoneType"), ONE, Verdict.WRONG_OUTPUT_TYPE, "returned a NoneType where the reference returns a tensor"),
        (
            taken("tuple", form()),
            TWO,
            Verdict.WRONG_OUTPUT_TYPE,
            "returned a tuple of 1 where the reference returns a tuple of 2",
        ),
        (taken("tensor", form(shape=(3, 2))), ONE, Verdict.WRONG_SHAPE, "got 3×2, want 2×3"),
        (taken("tensor", form(shape=())), ONE, Verdict.WRONG_SHAPE, "got a scalar, want 2×3"),
        (taken("tensor", form(dtype="float16")), ONE, Verdict.WRONG_DTYPE, "got float16, want float32"),
        (
            taken("tensor", form(device="cpu")),
            ONE,
            Verdict.WRONG_OUTPUT_TYPE,
            "a tensor on cpu, want cuda",
        ),
        (
            taken("tuple", form(), form(type_name="int")),
            TWO,
            Verdict.WRONG_OUTPUT_TYPE,
            "output 1: a int where a tensor belongs",
        ),
        (taken("tuple", form(), form(shape=(1,))), TWO, Verdict.WRONG_SHAPE, "output 1: got 1, want a scalar"),
    ],
)
def test_a_wrong_form_is_said_in_words(reply: CallTaken, spec: OutputSpec, verdict: Verdict, reason: str) -> None:
    with pytest.raises(SolutionFailed) as caught:
        judge_form(reply, spec)
    assert (caught.value.verdict, caught.value.failure.reason) == (verdict, reason)


def test_a_long_structure_is_told_by_its_beginning_and_its_size() -> None:
    structure, values = unpack([[0.5] * 20 for _ in range(20)])
    with pytest.raises(SolutionFailed) as caught:
        judge_form(taken(structure, *(form(type_name="float") for _ in values)), ONE)
    reason = caught.value.failure.reason
    assert reason.startswith("returned a tuple(tuple(tensor, tensor, ")
    assert reason.endswith("… of 400 where the reference returns a tensor")
    assert len(reason) < 150


@pytest.mark.parametrize(
    ("structure", "names"),
    [
        ("tuple", ["output 0", "output 1"]),
        ("dict(mean: tensor, my half: tensor)", ["output 'mean'", "output 'my half'"]),
        ("dict(h: tuple(tensor, tensor))", ["output 0", "output 1"]),
        ("tuple(tensor, dict(h: tensor))", ["output 0", "output 1"]),
    ],
)
def test_outputs_of_a_dict_have_their_keys_as_names(structure: str, names: list[str]) -> None:
    spec = replace(TWO, structure=structure)
    assert [spec.called(number) for number in range(2)] == names
    with_gradient = replace(spec, gradients=("x",))
    assert with_gradient.called(1) == "gradient of x"


@pytest.mark.parametrize(
    ("shares", "spec"),
    [
        ((), ONE),
        (("input 1",), replace(ONE, shared_inputs=frozenset({1}))),
        (("output 0 of an earlier call",), replace(ONE, is_kept=True)),
    ],
)
def test_what_the_reference_shares_may_be_shared(shares: tuple[str, ...], spec: OutputSpec) -> None:
    judge_sharing(taken("tensor", form(), shares=shares), spec)


@pytest.mark.parametrize(
    ("shares", "spec"),
    [
        ("input 0", ONE),
        ("input 0", replace(ONE, shared_inputs=frozenset({1}), is_kept=True)),
        ("output 0 of an earlier call", replace(ONE, shared_inputs=frozenset({0}))),
        ("a buffer of the referee", replace(ONE, shared_inputs=frozenset({0}), is_kept=True)),
    ],
)
def test_other_sharing_is_wrong(shares: str, spec: OutputSpec) -> None:
    allowed = [f"input {number}" for number in spec.shared_inputs]
    with pytest.raises(SolutionFailed, match=f"an output shares its memory with {shares}") as caught:
        judge_sharing(taken("tensor", form(), shares=(*allowed, shares)), spec)
    assert caught.value.verdict is Verdict.WRONG_VALUES


def test_a_passed_check_goes_through() -> None:
    assert failure_of(check(), ONE) is None


def test_wrong_values_are_said_in_numbers() -> None:
    wrong = comparison(
        compared=2000,
        mismatches=1500,
        max_abs_error=3.5,
        max_rel_error=0.25,
        worst=35.0,
        first_mismatches=(Mismatch((0, 7), 2.5, -1.0), Mismatch((1, 0), float("nan"), 1 / 3)),
    )
    failed = failure_of(check(comparison(), wrong), TWO)
    assert failed is not None
    assert failed.verdict is Verdict.WRONG_VALUES
    reason = failed.failure.reason
    assert tells(reason, "output 1:", "1,500 of 2,000", "75.00%", "[0, 7]:", "got 2.5", "want -1")
    assert failed.failure.details == (
        "largest absolute error 3.5, relative 0.25, 35 times the tolerance; first mismatches:\n"
        "  [0, 7]: got 2.5, want -1\n"
        "  [1, 0]: got nan, want 0.333333333"
    )


@pytest.mark.parametrize(
    ("dtype", "worst", "variant", "words"),
    [
        ("float32", 6.0, None, "accumulators"),
        ("float32", 6.0, "few distinct", "accumulators"),
        ("float32", 3000.0, None, "borders"),
        ("int64", math.inf, "partly few distinct", "argmax"),
        ("int64", math.inf, None, "borders"),
        ("float32", math.inf, "few distinct", "borders"),
    ],
)
def test_numbers_suggest_the_next_step(dtype: str, worst: float, variant: str | None, words: str) -> None:
    wrong = comparison(mismatches=1, dtype=dtype, worst=worst, first_mismatches=(Mismatch((1, 0), 2.5, -1.0),))
    failed = failure_of(replace(check(wrong), variant=variant), ONE)
    assert failed is not None
    assert words in failed.failure.next_step


@pytest.mark.parametrize(
    ("dtype", "may_choose", "words"),
    [("int64", True, "where values are equal"), ("int64", False, "borders"), ("int8", True, "borders")],
)
def test_where_torch_chooses_among_values_equal_ones_are_thought_of(dtype: str, may_choose: bool, words: str) -> None:
    wrong = comparison(mismatches=1, dtype=dtype, worst=math.inf, first_mismatches=(Mismatch((1, 0), 2.0, 1.0),))
    failed = failure_of(check(wrong), replace(ONE, may_choose=may_choose))
    assert failed is not None
    assert words in failed.failure.next_step


@pytest.mark.parametrize(
    ("dtype", "got", "want", "words"),
    [
        ("int32", -1.0, 25765.0, "-1 also stands where nothing was written"),
        ("int32", 0.0, 25765.0, "borders"),
        ("uint8", 255.0, 3.0, "255 also stands where nothing was written"),
        ("int8", 127.0, 3.0, "borders"),
        ("float32", -1.0, 1.0, "borders"),
    ],
)
def test_the_fill_of_an_integer_output_is_known_again(dtype: str, got: float, want: float, words: str) -> None:
    mismatches = (Mismatch((3, 0), got, want), Mismatch((3, 1), got, 7.0))
    wrong = comparison(mismatches=2, dtype=dtype, worst=math.inf, first_mismatches=mismatches)
    failed = failure_of(check(wrong), ONE)
    assert failed is not None
    assert words in failed.failure.next_step


def test_one_other_value_among_the_wrong_ones_is_no_fill() -> None:
    mismatches = (Mismatch((3, 0), -1.0, 25765.0), Mismatch((3, 1), 12.0, 7.0))
    wrong = comparison(mismatches=2, dtype="int32", worst=math.inf, first_mismatches=mismatches)
    failed = failure_of(check(wrong), ONE)
    assert failed is not None
    assert "nothing was written" not in failed.failure.next_step


@pytest.mark.parametrize(
    ("dtype", "relative", "told"),
    [("int64", 0.0, False), ("int64", 0.5, False), ("float32", 0.0, False), ("float32", 0.5, True)],
)
def test_a_relative_error_is_told_where_there_is_one(dtype: str, relative: float, told: bool) -> None:
    """An index of 69 in place of 0 was told as 'relative 0', and so was any number in place of 0."""
    wrong = comparison(mismatches=1, dtype=dtype, max_abs_error=69.0, max_rel_error=relative, worst=math.inf)
    wrong = replace(wrong, first_mismatches=(Mismatch((1, 0), 69.0, 0.0),))
    failed = failure_of(check(wrong), ONE)
    assert failed is not None
    details = failed.failure.details or ""
    assert ("largest absolute error 69" in details, "relative" in details) == (True, told)


FAULT = Finding("illegal-address", "4 bytes past the end", "relu", "cuda.cu", 12, (1, 0, 0), (31, 0, 0), 3)
REMARK = Finding("barrier-after-exit", "threads had exited")


@pytest.mark.parametrize(("mismatches", "words"), [(1, "1 of 4 values (25.00%) is"), (2, "2 of 4 values (50.00%) are")])
def test_one_wrong_value_is_singular(mismatches: int, words: str) -> None:
    wrong = comparison(mismatches=mismatches, first_mismatches=(Mismatch((1, 0), 2.5, -1.0),))
    assert describe_mismatch(wrong).startswith(words)


def test_all_but_a_few_wrong_values_are_not_all() -> None:
    count = 262_144
    wrong = comparison(
        elements=count, compared=count, mismatches=262_139, first_mismatches=(Mismatch((1, 0), 2.5, -1.0),)
    )
    assert describe_mismatch(wrong).startswith("262,139 of 262,144 values (99.99%) are")
    assert describe_mismatch(replace(wrong, mismatches=262_144)).startswith("262,144 of 262,144 values (100.00%) are")


def test_values_that_were_not_compared_are_counted_out() -> None:
    wrong = comparison(elements=9, compared=4, mismatches=2, first_mismatches=(Mismatch((1, 0), 2.5, -1.0),))
    assert describe_mismatch(wrong).startswith("2 of 4 compared values (50.00%) are")


def test_a_finding_is_said_with_its_place() -> None:
    place = ("relu", "line 12", "block [1, 0, 0]", "thread [31, 0, 0]:")
    assert tells(describe_finding(FAULT), "illegal-address", *place, "4 bytes past the end", "3 times")
    assert describe_finding(REMARK) == f"barrier-after-exit: {REMARK.detail}"


def test_a_fault_leads_to_its_verdict() -> None:
    fault = fault_among([REMARK, FAULT])
    assert fault is not None
    assert fault.verdict is Verdict.MEMORY_ERROR
    assert "index" in fault.failure.next_step


def test_a_fault_quotes_its_line_and_names_what_else_was_seen() -> None:
    race = replace(FAULT, kind="shared-race", detail="no barrier", line=7, code="x = tile[i];")
    fault = fault_among([REMARK, race, FAULT])
    assert fault is not None
    assert fault.verdict is Verdict.NONDETERMINISTIC
    assert fault.failure.details == (
        "    7 | x = tile[i];\nalso seen:\nbarrier-after-exit: threads had exited\n"
        "illegal-address in relu at line 12, block [1, 0, 0], thread [31, 0, 0]: 4 bytes past the end (3 times)"
    )


def test_an_access_out_of_bounds_comes_before_what_it_brings_about_in_its_line() -> None:
    race = replace(FAULT, kind="global-race", detail="no barrier")
    fault = fault_among([race, FAULT])
    assert fault is not None
    assert fault.verdict is Verdict.MEMORY_ERROR
    assert "also seen:\nglobal-race" in (fault.failure.details or "")


@pytest.mark.parametrize("findings", [[], [REMARK], [Finding("invented-by-a-worker", "?")]])
def test_remarks_and_unknown_words_lead_to_none(findings: list[Finding]) -> None:
    assert fault_among(findings) is None


@pytest.mark.parametrize(("tolerance", "word"), [(Tolerance(1e-3, 1e-3), "NaN"), (Tolerance(0.0, 0.0), "tolerated")])
def test_an_error_without_a_size_is_said_in_words(tolerance: Tolerance, word: str) -> None:
    wrong = comparison(
        mismatches=1, worst=float("inf"), tolerance=tolerance, first_mismatches=(Mismatch((0, 0), 1.0, 2.0),)
    )
    failed = failure_of(check(wrong), ONE)
    assert failed is not None
    assert word in (failed.failure.details or "").partition(";")[0]


class Lazy(tuple[torch.Tensor, ...]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        raise AssertionError("nothing of a solution's runs once the clock has stopped")


def test_a_container_is_taken_apart_by_its_kind_s_own_iterator() -> None:
    Two = namedtuple("Two", "values indices")
    one = torch.ones(1)
    for several in ((one, one), [one, one], Two(one, one), Lazy((one, one)), torch.ones(2, 2).max(1)):
        structure, outputs = unpack(several)
        assert (structure, len(outputs)) == ("tuple", 2)
    assert unpack({"a": [one], "b": one})[0] == "dict(a: tuple(tensor), b: tensor)"


def test_an_earlier_output_s_memory_may_be_allowed_and_is_told() -> None:
    reply = taken("tensor", form(), shares=("input 0", "output 0 of an earlier call"))
    judge_sharing(reply, replace(ONE, shared_inputs=frozenset({0})), may_keep=True)
    assert keeps_output(reply, ONE)
    with pytest.raises(SolutionFailed):
        judge_sharing(reply, ONE, may_keep=True)
