"""The tolerance that a problem's own reference asks for."""

from __future__ import annotations

import math
import random
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.model.check import Tolerance
from harness.referee.answers.comparison import within
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.oracle import Oracle
from harness.referee.excuses import with_errors_among_all
from harness.referee.inputs.draws import draw_variants, make_inputs
from harness.referee.inputs.variants import MODERATE
from harness.referee.judgement import judge_values
from harness.referee.setting import prepare_setting
from harness.referee.tolerance import (
    ErrorEvidence,
    distance,
    gather_evidence,
    least_for,
    reaches,
    rms,
    unit_of,
    values_around,
)
from harness.workspace.problem import load_problem
from tests.machine import ROOT
from tests.referee.inputs.test_variants import made


def evidence(error: float, forgiven: float = 0.05, least: float = 1e-4) -> ErrorEvidence:
    return ErrorEvidence(Tolerance(2.0, 1.0), least, {"eager": error, "strict float32": 1e-7}, forgiven)


@pytest.mark.parametrize(
    ("error", "share"),
    [(0.0, 1e-4), (4e-5, 1e-4), (1e-3, 2e-3), (4e-3, 0.05 / 8.08)],
    ids=["exact", "below the least", "twice the error", "capped"],
)
def test_a_tolerance_is_twice_the_error_between_the_least_and_the_most(error: float, share: float) -> None:
    assert evidence(error).share == pytest.approx(share)
    assert evidence(error).is_telling


@pytest.mark.parametrize(
    ("values", "size"),
    [
        (torch.tensor([3.0, 4.0, math.nan, math.inf, -math.inf]), math.sqrt(12.5)),
        (torch.tensor([3.0, 4.0, math.nan], dtype=torch.float64), math.sqrt(12.5)),
        (torch.tensor([60_000.0, 0.0], dtype=torch.float16), 60_000 / math.sqrt(2)),
        (torch.tensor([3.0 + 4.0j, complex(math.inf, 0)]), 5.0),
        (torch.tensor([3, -4]), math.sqrt(12.5)),
        (torch.tensor([True, False]), math.sqrt(0.5)),
        (torch.tensor([2.0]).to(torch.float8_e4m3fn), 2.0),
        (torch.tensor([math.nan]), 0.0),
        (torch.empty(0), 0.0),
    ],
)
def test_the_root_mean_square_is_of_the_finite_values_of_any_kind(values: torch.Tensor, size: float) -> None:
    assert rms(values) == pytest.approx(size)


def test_where_the_reference_errs_like_a_wrong_element_nothing_is_told() -> None:
    found = evidence(6e-3)
    assert not found.is_telling
    assert found.share == pytest.approx(1.2e-2)


def test_a_reference_that_keeps_state_is_named_as_that(tmp_path: Path) -> None:
    stateful = "self.kept = x + self.kept\nreturn self.kept"
    with pytest.raises(InvalidProblem, match="state"):
        made(tmp_path, stateful, "torch.randn(64)", init="self.kept = torch.zeros(64)").derived()


def test_a_share_holds_for_all_parts_of_the_unit() -> None:
    assert ErrorEvidence(Tolerance(2.0, 1.0, 1.0), 0.5, {}, 0.05).tolerance == Tolerance(1.0, 0.5, 0.5)


def test_items_of_many_elements_have_a_scale_of_their_own() -> None:
    want = torch.cat([torch.full((1, 256), 1.0), torch.full((1, 256), 1024.0)])
    unit = unit_of(want)
    assert (unit.rtol, unit.of_scale) == (1.0, 1.0)
    assert distance(want + 1.0, want, unit) == pytest.approx(1.0 / (2.0 + 724.0 / 1024), rel=1e-3)


@pytest.mark.parametrize(("limit", "does"), [(0.5, True), (2.0, True), (2.5, False)])
def test_an_error_reaches_what_it_equals(limit: float, does: bool) -> None:
    want = torch.ones(64)
    assert reaches(limit, want + 4.0, want, unit_of(want)) == does


def test_items_of_few_elements_share_one_scale() -> None:
    want = torch.tensor([[3.0, 0.0], [0.0, 3.0]])
    assert unit_of(want).atol == pytest.approx(4.5**0.5)
    assert unit_of(want).of_scale == 0


def test_values_that_are_not_finite_have_no_part_in_the_scale() -> None:
    assert unit_of(torch.tensor([float("inf"), float("nan"), 2.0])) == Tolerance(2.0, 1.0)


def test_integers_are_equal_or_wrong() -> None:
    assert unit_of(torch.arange(4)).is_exact


@pytest.mark.parametrize("count", [4, 1024])
def test_a_subnormal_number_may_be_zero_and_the_least_normal_one_is_not_twice_as_large(count: int) -> None:
    tiny = torch.finfo(torch.float32).tiny
    want = torch.full((1, count), tiny / 2, dtype=torch.float64)
    least = unit_of(want).times(1e-4)
    assert within(torch.zeros_like(want), want, least).all()
    assert not within(want + 1.1 * tiny, want, least).any()
    assert least_for(torch.int64, "float32") == 0


@pytest.mark.parametrize(
    ("dtype", "precision", "least"),
    [
        (torch.float64, None, 1e-8),
        (torch.float64, "float32", 1e-4),
        (torch.float32, None, 1e-4),
        (torch.float32, "float32", 1e-4),
        (torch.float32, "tf32", 2e-3),
        (torch.float32, "bfloat16", 2e-2),
        (torch.float16, "float32", 1e-2),
        (torch.complex64, None, 1e-4),
    ],
)
def test_the_least_follows_the_looser_of_dtype_and_declared_precision(
    dtype: torch.dtype, precision: str | None, least: float
) -> None:
    assert least_for(dtype, precision) == least


def test_the_values_around_an_element_are_its_items() -> None:
    want = torch.arange(512.0).reshape(2, 256)
    assert values_around(want, 300).tolist() == want[1].tolist()
    assert values_around(want.reshape(256, 2), 300).shape == (256, 2)


def test_a_named_tolerance_needs_no_evidence(tmp_path: Path) -> None:
    setting = made(tmp_path, "x * 2", yaml="tolerance: {atol: 0.5, rtol: 0.25}")
    assert (setting.evidence, setting.tolerances) == ((), (Tolerance(0.5, 0.25),))


def test_small_outputs_are_held_to_their_own_size(tmp_path: Path) -> None:
    """KernelBench's softmax over 393,216 columns gives values of 2.5e-6: beside an absolute 1e-4 zeros are right."""
    setting = made(tmp_path, "x.softmax(1)", "torch.rand(4, 50_000)")
    (tolerance,) = setting.tolerances
    assert tolerance.of_scale == 1e-4
    assert tolerance.atol < 1e-11


def test_what_was_derived_is_kept_with_its_reasons(tmp_path: Path) -> None:
    (derived,) = made(tmp_path, "x * 2").derived()
    assert (derived.case, derived.output, derived.share, derived.least) == ("full", 0, 1e-4, 1e-4)
    assert derived.errors == {"eager": 0.0}


def test_the_last_word_has_what_the_reference_errs_on_the_very_inputs(tmp_path: Path) -> None:
    setting = made(tmp_path, "(x + 0.3) - x")
    kernel = setting.oracle.native
    inputs = [value * 2**20 for value in setting.reference.make_inputs(7)]
    assert setting.oracle.native(inputs)[0].sub(0.3).abs().max() > 0.01
    (compared,) = judge_values(kernel(inputs), inputs, setting)
    assert compared.passed
    (compared,) = judge_values([kernel(inputs)[0] + 1], inputs, setting)
    assert not compared.passed


def test_values_beside_a_step_of_the_reference_may_be_on_either_side(tmp_path: Path) -> None:
    """Those of a kernel that is four units in the last place off, before it rounds to float8."""
    setting = made(tmp_path, "(x.sigmoid() * 400).to(torch.float8_e4m3fn).float()", "torch.randn(512, 2048)")
    inputs = setting.reference.make_inputs(7)
    (x,) = inputs
    kernel = (x.sigmoid() * 400 * (1 + 2**-21)).to(torch.float8_e4m3fn).float()
    assert 0 < (kernel != setting.oracle.native(inputs)[0]).sum() < 100
    (compared,) = judge_values([kernel], inputs, setting)
    assert compared.passed
    assert 0 < compared.elements - compared.compared < 1000
    kernel[3, 5] *= 1.125  # a step, where none is near
    (compared,) = judge_values([kernel], inputs, setting)
    assert compared.mismatches == 1


def _leave_one_unwritten(right: torch.Tensor) -> None:
    """Where a result that is a little off has no root."""
    right.view(-1)[int(right.argmin())] = math.nan


@pytest.mark.parametrize(
    ("forward", "inputs", "wrong"),
    [
        ("(x + 8192.0) - 8192.0", "torch.rand(64, 300)", lambda right: right.flatten()[9600:9601].mul_(1.05)),
        ("((x / x.amax(1, keepdim=True)) == 1.0).float()", "torch.rand(8, 2048)", lambda right: right.zero_()),
        (
            "(1 - torch.sigmoid(x)).sqrt()",
            "torch.randn(64, 2048) * 4",
            lambda right: right.view(-1)[int(right.argmin())].fill_(math.nan),
        ),
    ],
)
def test_no_step_excuses_what_rounding_errors_move(
    tmp_path: Path, forward: str, inputs: str, wrong: Callable[[torch.Tensor], object]
) -> None:
    """Found by a reviewer: where few values are wrong and the reference, a little off, may give them too."""
    for forward_too in (forward, f"(y := {forward}) + (y * 0).to(torch.float8_e4m3fn).float()"):
        folder = tmp_path / str(len(forward_too))
        folder.mkdir()
        setting = made(folder, forward_too, inputs)
        drawn = setting.reference.make_inputs(7)
        kernel = setting.oracle.native(drawn)[0].clone()
        wrong(kernel)
        (compared,) = judge_values([kernel], drawn, setting)
        assert (compared.passed, compared.compared) == (False, compared.elements)


ONE_SIDED = "(x + 0.3) - x"


def test_errors_among_all_rows_count_beside_evidence_on_some_until_memory_is_short(tmp_path: Path) -> None:
    setting = made(tmp_path, ONE_SIDED)
    inputs = setting.reference.make_inputs(7)
    want, few = gather_evidence(setting.oracle, [inputs[0][3:5]], "float32")
    another = setting.oracle.native(inputs)[0].clone()
    another[4] += 0.01  # as another algorithm would err there
    ways = [("eager", setting.oracle.native(inputs)), ("channels-last", [another])]

    def until_memory_is_short() -> Iterator[tuple[str, Sequence[torch.Tensor]]]:
        yield from ways
        raise torch.OutOfMemoryError

    (found,) = with_errors_among_all(few, until_memory_is_short(), [3, 4], want)
    assert found.errors["eager among all"] == few[0].errors["eager"]
    assert found.errors["channels-last among all"] > 100 * few[0].error
    another[4, 0] = torch.inf
    (found,) = with_errors_among_all(few, ways, [3, 4], want)
    assert "channels-last among all" not in found.errors


def test_a_second_call_into_the_same_memory_loosens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = made(tmp_path, ONE_SIDED)
    inputs = setting.reference.make_inputs(7)
    right = setting.oracle.native(inputs)[0].clone()
    kept, factors = torch.empty_like(right), iter((1.0, 1.005))
    monkeypatch.setattr(setting.oracle, "native", lambda given: (kept.copy_(right * next(factors)),))
    _, (found,) = gather_evidence(setting.oracle, inputs, "float32")
    assert found.errors["eager"] < 1e-5


@pytest.mark.parametrize(
    ("asked", "fails_at"),
    [("answer", [1]), ("answer", [1, 2]), ("native", [3]), ("native", [4])],
    ids=["beside eager's answer", "nowhere on the GPU", "for a second run", "for another way"],
)
def test_evidence_is_the_same_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, fails_at: list[int]
) -> None:
    setting = made(tmp_path, ONE_SIDED)
    inputs = setting.reference.make_inputs(7)
    monkeypatch.setattr(Oracle, "reformulations", lambda self, given: [("another way", self.native(given))])
    facts = (setting.oracle, inputs, "float32")
    right, evidence = gather_evidence(*facts)
    numbers, method = count(1), getattr(Oracle, asked)

    def short(self: Oracle, *given: Any) -> Any:
        if next(numbers) in fails_at:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return method(self, *given)

    monkeypatch.setattr(Oracle, asked, short)
    want, found = gather_evidence(*facts)
    assert found == evidence
    assert torch.equal(want[0], right[0])


def test_a_second_attempt_finds_nothing_of_the_first_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = made(tmp_path, ONE_SIDED)
    monkeypatch.setattr(Oracle, "reformulations", lambda self, given: [("another way", self.native(given))])
    numbers, method, alive = count(1), Oracle.native, []
    outputs: list[weakref.ref[torch.Tensor]] = []

    def short(self: Oracle, given: Any) -> Any:
        number = next(numbers)
        if number == 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        if number == 3:
            alive.append(sum(one() is not None for one in outputs))
        found = method(self, given)
        outputs.append(weakref.ref(found[0]))
        return found

    monkeypatch.setattr(Oracle, "native", short)
    gather_evidence(setting.oracle, setting.reference.make_inputs(7), "float32")
    assert alive == [0]


@pytest.mark.parametrize("scale", [2.0**18, torch.inf], ids=["it errs", "it overflows"])
def test_a_wrong_row_stays_wrong_beside_one_in_which_the_reference_errs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scale: float
) -> None:
    setting = made(tmp_path, ONE_SIDED, yaml="independent_batch: true\n")
    inputs = setting.reference.make_inputs(7)
    tolerances = setting.tolerances
    inputs[0][5] *= scale
    want = setting.oracle.answer(inputs)[0].float()
    wrong = want.clone()
    wrong[0] += 0.007 * want[0].mean()
    monkeypatch.setattr(type(setting), "on_gpu", True)
    assert judge_values([want], inputs, setting, tolerances)[0].passed
    assert not judge_values([wrong], inputs, setting, tolerances)[0].passed


def test_evidence_is_kept_where_eager_finds_no_room_for_all_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = made(tmp_path, ONE_SIDED, yaml="independent_batch: true\n")
    inputs = [value * 2**20 for value in setting.reference.make_inputs(7)]
    kernel = setting.oracle.native(inputs)
    whole, native = inputs[0].shape, setting.oracle.native

    def short(given: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        if given[0].shape == whole:
            raise torch.OutOfMemoryError
        return native(given)

    tolerances = setting.tolerances
    monkeypatch.setattr(type(setting), "on_gpu", True)
    monkeypatch.setattr(setting.oracle, "native", short)
    assert judge_values(kernel, inputs, setting, tolerances)[0].passed


@pytest.mark.parametrize(("error", "is_sought"), [(0.001, True), (0.3, True), (3.0, False), (math.nan, False)])
def test_the_plainest_arithmetic_is_not_asked_for_what_it_could_not_excuse(
    error: float, is_sought: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = made(tmp_path, "torch.softmax(x, 1)", "torch.rand(3, 300)")
    asked: list[object] = []
    monkeypatch.setattr(setting.oracle, "summed_serially", asked.append)
    inputs = torch.rand(3, 300, generator=torch.Generator().manual_seed(1))
    wrong = torch.softmax(inputs, 1)
    wrong[1, 7] += error * 2 * wrong[1].square().mean().sqrt()
    assert not judge_values([wrong], [inputs], setting)[0].passed
    assert bool(asked) is is_sought


CHAIN = "__import__('functools').reduce(lambda y, _: (y @ x.float().mT) / 16, range(12), x.float()).to(x.dtype)"


@pytest.mark.parametrize(
    ("kernel", "is_right"), [("bfloat16", True), ("exact", True), ("float8", False), ("off", False)]
)
def test_results_as_short_as_the_output_are_honest(kernel: str, is_right: bool, tmp_path: Path) -> None:
    """As tensor cores multiply them, where the reference goes on in float32."""
    setting = made(tmp_path, CHAIN, "torch.randn(256, 256).bfloat16()")
    (x,) = setting.reference.make_inputs(3)
    short = {"bfloat16": torch.bfloat16, "float8": torch.float8_e4m3fn}.get(kernel, torch.float32)
    y = x.float()
    for _ in range(12):
        y = (y.to(short).float() @ x.float().mT) / 16
    if kernel == "off":
        y[7, 9] += 0.2 * y.square().mean().sqrt()
    assert judge_values([y.to(x.dtype)], [x], setting)[0].passed is is_right


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, by_output: torch.Tensor) -> list[torch.Tensor]:
    """Causal attention and its gradients, with weights computed anew from one number per query (Dao et al. 2022), by a
    multiplication fused with a subtraction."""
    scale = q.shape[-1] ** -0.5
    products = (q @ k.mT).masked_fill(~torch.ones(q.shape[2], k.shape[2]).tril().bool(), -math.inf)
    scores = products * scale
    largest = scores.amax(-1, keepdim=True)
    shares = (scores - largest).exp()
    total = shares.sum(-1, keepdim=True)
    output = shares @ v * (1 / total)
    weights = (products.double() * scale - (largest + total.log()).double()).float().exp()
    by_scores = weights * (by_output @ v.mT - (by_output * output).sum(-1, keepdim=True))
    return [output, by_scores @ k * scale, by_scores.mT @ q * scale, weights.mT @ by_output]


def test_attention_whose_backward_computes_its_weights_anew_is_honest() -> None:
    """Its weights add up to 1 less exactly than softmax's, which shows where they are nearly 0 and 1."""
    setting = prepare_setting(load_problem(ROOT / "problems/attention_backward"), "narrow", 7, "cpu")
    variants = draw_variants(setting, (setting.seed(number) for number in count()), random.Random(3)).drawn
    large = [one for one in variants if one.variant is not None and one.variant.exponent == MODERATE]
    for number in (16, 26, 42, 94, 132):
        drawn = replace(large[number % len(large)], seed=number)
        inputs = make_inputs(setting, drawn)
        tolerances = tuple(one.tolerance for one in setting.evidence_on(inputs))
        assert all(one.passed for one in judge_values(flash(*inputs), inputs, setting, tolerances)), number
        rough = flash(*(one.bfloat16().float() for one in inputs))
        assert not all(one.passed for one in judge_values(rough, inputs, setting, tolerances)), number
        wrong = flash(*inputs)
        wrong[3][0, 0, 5] += 0.02 * wrong[3].square().mean().sqrt()
        assert not all(one.passed for one in judge_values(wrong, inputs, setting, tolerances)), number
