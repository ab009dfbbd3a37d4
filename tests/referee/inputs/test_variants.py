"""Input variants: what they find, what they ask of whom, and where the reference can't bear them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from harness.errors import InvalidFile
from harness.model.verdict import Verdict
from harness.referee.answers.oracle import Oracle
from harness.referee.inputs import draws
from harness.referee.inputs.draws import Drawn, draw_variants, make_inputs
from harness.referee.inputs.variants import Variant, ladders
from harness.referee.mutants.specimens import worst_error
from harness.referee.setting import Lessons, Setting, prepare_setting
from harness.workspace.problem import VariantName, load_problem
from tests.machine import ROOT
from tests.problem_text import problem_text
from tests.referee.in_process import checked, computing, setting_of
from tests.referee.test_correctness import verdict_of
from tests.wording import tells


def ours(problem: str, case: str = "small") -> Setting:
    return prepare_setting(load_problem(ROOT / "problems" / problem), case, 11, "cpu")


def convolution(rounded: Callable[[torch.Tensor], torch.Tensor] = lambda value: value) -> type[nn.Module]:
    """The reference's layer, with operands that lose precision first."""

    class Convolution(nn.Module):
        def __init__(self, *args: Any) -> None:
            super().__init__()
            self.conv2d = nn.Conv2d(*args[:3], bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return functional.conv2d(rounded(x), rounded(self.conv2d.weight))

    return Convolution


def _mantissa(value: torch.Tensor, add: int) -> torch.Tensor:
    """float32 with ten bits behind the point: rounded to nearest with `add` of 0x1000, truncated with 0."""
    return ((value.contiguous().view(torch.int32) + add) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("problem", ["conv2d_square", "conv2d_asymmetric"])
@pytest.mark.parametrize("case", ["small", "full_channels"])
@pytest.mark.parametrize(
    "model",
    [
        convolution(),
        convolution(lambda value: _mantissa(value, 0x1000)),
        convolution(lambda value: _mantissa(value, 0)),
    ],
    ids=["float32", "tf32", "truncated to tf32"],
)
def test_convolutions_in_float32_and_tf32_pass(problem: str, case: str, model: type[nn.Module]) -> None:
    outcome, _ = checked(ours(problem, case), model)
    assert outcome.failed is None, outcome.failed
    assert {check.variant for check in outcome.checks} - {"partly negative (times 2^20)"} == {
        None,
        "rescaled (times 2^20)",
        "rescaled (times 2^-20)",
        "shifted",
        "negative",
        "negative (times 2^20)",
        "signed",
        "few distinct",
        "few terms",
    }


@pytest.mark.parametrize("problem", ["conv2d_square", "conv2d_asymmetric"])
@pytest.mark.parametrize("most", [torch.inf, 65504], ids=["overflowing", "within its range"])
def test_half_precision_passed_off_as_tf32_is_wrong(problem: str, most: float) -> None:
    verdict, found = verdict_of(ours(problem), convolution(lambda value: value.clamp(-most, most).half().float()))
    assert verdict is Verdict.WRONG_VALUES
    assert any(tells(found, f"{name} (times") for name in ("rescaled", "negative", "partly negative"))


MaxPool = computing(functional.max_pool2d)
MaxPoolFromZero = computing(lambda x, *sizes: functional.max_pool2d(x, *sizes).clamp(min=0))
MaxPoolFromMinusThousand = computing(lambda x, *sizes: functional.max_pool2d(x, *sizes).clamp(min=-1000))
MaxPoolFromLowest = computing(  # the least finite number instead of minus infinity
    lambda x, *sizes: functional.max_pool2d(x, *sizes).clamp(min=torch.finfo(torch.float32).min)
)
MaxPoolOverZeroPadding = computing(
    lambda x, kernel, stride, padding, dilation: functional.max_pool2d(
        functional.pad(x, [padding] * 4), kernel, stride, 0, dilation
    )
)
MaxPoolWithoutNan = computing(
    lambda x, *sizes: functional.max_pool2d(x.nan_to_num(-torch.inf, torch.inf, -torch.inf), *sizes)
)


@pytest.mark.parametrize("case", ["small", "odd", "strided_dilated", "identity", "single_row"])
def test_a_maximum_passes_with_all_variants(case: str) -> None:
    outcome, _ = checked(ours("maxpool2d", case), MaxPool)
    assert outcome.failed is None, outcome.failed
    assert {"infinite", "NaN", "negative"} <= {check.variant for check in outcome.checks}


@pytest.mark.parametrize(
    ("model", "case", "variants"),
    [
        (MaxPoolFromZero, "small", ("negative", "partly negative", "shifted", "infinite")),
        (MaxPoolFromMinusThousand, "small", ("negative (times 2^20)", "partly negative", "infinite")),
        (MaxPoolOverZeroPadding, "small", ("negative", "partly negative", "shifted", "infinite")),
        (MaxPoolFromLowest, "identity", ("infinite",)),
        (MaxPoolFromLowest, "small", ("infinite",)),
        (MaxPoolFromLowest, "strided_dilated", ("infinite",)),
        (MaxPoolWithoutNan, "small", ("NaN",)),
    ],
)
def test_a_maximum_that_starts_elsewhere_is_wrong(model: type[nn.Module], case: str, variants: tuple[str, ...]) -> None:
    verdict, reason = verdict_of(ours("maxpool2d", case), model)
    assert verdict is Verdict.WRONG_VALUES
    assert reason.startswith(tuple(f"with {variant}" for variant in variants))


def made(folder: Path, forward: str, given: str = "torch.rand(8, 300)", yaml: str = "", init: str = "") -> Setting:
    return setting_of(folder, problem_text(forward, given, init), yaml)


def fair_in(setting: Setting) -> tuple[set[str], tuple[str, ...]]:
    found = draw_variants(setting, iter(range(1, 100)), random.Random(3))
    return {drawn.variant.words for drawn in found.drawn if drawn.variant}, found.remarks


NEGATIVE = {"negative", "negative (times 2^20)", "signed"}
ALL = {"rescaled (times 2^20)", "rescaled (times 2^-20)", "shifted", "few distinct", *NEGATIVE}
MODERATE = {"rescaled (times 2^4)", "rescaled (times 2^-4)", "negative (times 2^4)"}


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("x.relu()", {*ALL, "full mantissas"}),
        ("x @ x.t()", {*ALL, "few terms"}),
        ("x.argmax(1)", {*ALL, "few terms"}),
        ("x.softmax(1)", {*ALL, *MODERATE, "few terms"}),
        ("nn.functional.layer_norm(x, (300,))", {*ALL, *MODERATE, "few terms"}),
        ("nn.functional.gelu(x)", {*ALL, *MODERATE, "full mantissas"}),
    ],
)
def test_common_operations_bear_all_default_variants(tmp_path: Path, forward: str, words: set[str]) -> None:
    """Where outputs scale with the inputs, far scales decide, and moderate ones would say no more."""
    assert fair_in(made(tmp_path, forward)) == (words, ())


def test_where_the_reference_itself_gives_nan_a_variant_does_not_count(tmp_path: Path) -> None:
    words, remarks = fair_in(made(tmp_path, "x.sqrt()"))
    assert words == {*(ALL - NEGATIVE), "full mantissas"}  # shifted upwards, where downwards is none
    assert len(remarks) == 1
    assert "not tried with" in remarks[0]
    assert tells(remarks[0], "negative, negative (times 2^4), signed", "reference itself")


def test_what_the_reference_cannot_bear_is_tried_milder(tmp_path: Path) -> None:
    words, remarks = fair_in(made(tmp_path, "x.exp()"))
    assert "rescaled (times 2^4)" in words
    assert "rescaled (times 2^-20)" in words
    assert remarks == ()


def test_a_reference_that_raises_for_other_inputs_is_asked_no_more(tmp_path: Path) -> None:
    setting = made(tmp_path, "x if x.min() >= 0 and x.max() <= 1 else x.no_such_method()")
    words, remarks = fair_in(setting)
    assert words == {"rescaled (times 2^-20)", "few distinct", "full mantissas"}
    assert "shifted" in remarks[0]
    assert setting.oracle.kind == "float64"


def test_equal_numbers_in_a_long_sum_are_tried_with_few_bits(tmp_path: Path) -> None:
    """One after another, as a thread adds up a window of 80 x 80: of long values the reference's own sum is off."""
    yaml = "tolerance: {atol: 1.0e-6, rtol: 1.0e-5}\nvariants: [ties]\n"
    setting = made(tmp_path, "sum(x.unbind(1))", "torch.rand(64, 6400).clamp(0.2, 0.7)", yaml)
    assert fair_in(setting) == ({"few distinct"}, ())


@pytest.mark.parametrize("forward", ["nn.functional.binary_cross_entropy(x, x)", "torch.bernoulli(x)"])
def test_operations_that_abort_a_device_get_their_own_inputs_only(tmp_path: Path, forward: str) -> None:
    words, remarks = fair_in(made(tmp_path, forward))
    assert words == set()
    assert "aborts the device" in remarks[0]


def test_integers_are_left_alone(tmp_path: Path) -> None:
    assert fair_in(made(tmp_path, "x + 1", "torch.arange(12).view(3, 4)")) == (set(), ())


def test_a_problem_says_which_variants_it_bears(tmp_path: Path) -> None:
    assert fair_in(made(tmp_path / "one", "x * 2", yaml="variants: [negative, signed, nan]\n"))[0] == {"NaN", *NEGATIVE}
    assert fair_in(made(tmp_path / "none", "x * 2", yaml="variants: []\n")) == (set(), ())
    with pytest.raises(InvalidFile, match=r"'negatve' .*negative"):
        made(tmp_path / "typo", "x * 2", yaml="variants: [negatve]\n")


@pytest.mark.parametrize(
    "forward", ["x.relu()", "nn.functional.elu(x)", "nn.functional.leaky_relu(x)", "nn.functional.hardtanh(x)"]
)
def test_a_copy_of_the_input_is_no_activation(tmp_path: Path, forward: str) -> None:
    """Of numbers between 0 and 1 it would be."""
    copy = computing(lambda x: x.clone())
    assert checked(made(tmp_path / "drawn", forward, yaml="variants: []\n"), copy)[0].failed is None
    assert verdict_of(made(tmp_path / "varied", forward), copy)[0] is Verdict.WRONG_VALUES


NaiveSoftplus = computing(lambda x: (1 + x.exp()).log())  # infinite beyond 88
ZeroFarOut = computing(lambda x: nn.functional.softplus(x if bool(x.abs().max() < 2**9) else x * 0))


@pytest.mark.parametrize("model", [NaiveSoftplus, ZeroFarOut])
def test_what_fails_far_from_the_drawn_scale_alone_is_fragile(tmp_path: Path, model: type[nn.Module]) -> None:
    outcome, _ = checked(made(tmp_path, "nn.functional.softplus(x)"), model)
    assert outcome.failed is None
    assert all(check.passed for check in outcome.checks)
    assert "rescaled (times 2^20)" in {check.variant for check in outcome.fragile}
    assert {"rescaled (times 2^4)", "rescaled (times 2^-4)"} <= {check.variant for check in outcome.checks}
    assert all(not check.passed and check.outputs[0].first_mismatches for check in outcome.fragile)
    assert sum("fragile" in remark for remark in outcome.remarks) == len(outcome.fragile)


def test_what_is_fragile_fails_where_the_config_says_so(tmp_path: Path) -> None:
    setting = made(tmp_path, "nn.functional.softplus(x)")
    outcome, _ = checked(setting, NaiveSoftplus, fragile="fail")
    assert outcome.failed is not None
    assert outcome.failed.verdict is Verdict.WRONG_VALUES
    assert outcome.fragile == []


def test_what_fails_at_sixteen_times_the_drawn_scale_is_wrong(tmp_path: Path) -> None:
    clamped = computing(lambda x: nn.functional.softplus(x.clamp(max=8)))
    assert tells(verdict_of(made(tmp_path, "nn.functional.softplus(x)"), clamped)[1], "rescaled (times 2^4)")


SumInHalf = computing(lambda x: x.half().float().sum(dim=1).to(x.dtype))


def test_half_in_place_of_bfloat16_is_fragile_and_in_place_of_float32_wrong(tmp_path: Path) -> None:
    """It has the same number of bits, and less range."""
    sums = "x.float().sum(dim=1).to(x.dtype)"
    outcome, _ = checked(made(tmp_path / "bfloat16", sums, "torch.rand(500, 200, dtype=torch.bfloat16)"), SumInHalf)
    assert outcome.failed is None
    assert {"rescaled (times 2^20)", "negative (times 2^20)"} <= {check.variant for check in outcome.fragile}
    assert {check.variant for check in outcome.checks} >= MODERATE
    assert verdict_of(made(tmp_path / "float32", sums), SumInHalf)[0] is Verdict.WRONG_VALUES


SUM = problem_text("x.sum(dim=1)", "torch.rand(500, 2000)")

Sum = computing(lambda x: x.sum(dim=1))


class SumByASample(nn.Module):
    """In half precision where 64 elements are between 0 and 1 and most of them differ: by none of the variants of whole
    inputs is it wrong."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sample = x.view(-1)[:: x.numel() // 64]
        is_tame = bool(((sample >= 0) & (sample <= 1)).all()) and len(sample.unique()) > 8 and bool(sample.max() > 0.5)
        return (x.half().float() if is_tame else x).sum(dim=1)


def test_a_way_chosen_by_a_sample_of_the_inputs_is_wrong_for_a_row_that_it_misses(tmp_path: Path) -> None:
    independent = "independent_batch: true\n"
    assert checked(setting_of(tmp_path / "right", SUM, independent), Sum)[0].failed is None
    outcomes = [checked(setting_of(tmp_path / str(number), SUM, independent), SumByASample)[0] for number in range(4)]
    failed = [outcome.failed for outcome in outcomes if outcome.failed]  # of 500 rows 64 are looked at
    assert failed
    assert all(tells(one.failure.reason, "partly negative (times 2^20)") for one in failed)


def test_one_row_is_changed_alone(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, SUM, "independent_batch: true\n")
    fair = draw_variants(setting, iter(range(100)), random.Random(3))
    (drawn,) = (one for one in fair.drawn if one.variant and one.variant.words.startswith("partly"))
    (plain,) = make_inputs(setting, Drawn(drawn.seed))
    (changed,) = make_inputs(setting, drawn)
    assert int((changed != plain).any(dim=1).sum()) == 1
    assert float(changed.min()) < -1000


PRODUCT = problem_text("a @ b", "torch.rand(64, 1024), torch.rand(1024, 64)", given="a, b")

Product = computing(lambda a, b: a @ b)
ProductInTf32 = computing(lambda a, b: _mantissa(a, 0x1000) @ _mantissa(b, 0x1000))
ProductInHalf = computing(lambda a, b: a.half().float() @ b.half().float())
ProductInBfloat16 = computing(lambda a, b: a.bfloat16().float() @ b.bfloat16().float())


@pytest.mark.parametrize("model", [ProductInTf32, ProductInHalf, ProductInBfloat16])
@pytest.mark.parametrize("depth", [64, 1024, 16384])
def test_cheaper_precision_shows_in_a_few_terms_of_full_mantissas(
    tmp_path: Path, model: type[nn.Module], depth: int
) -> None:
    """Whatever the length of the sum, and where nothing cancels."""
    setting = setting_of(tmp_path, PRODUCT.replace("1024", str(depth)), "variants: [few_terms]\n")
    (drawn,) = draw_variants(setting, iter(range(99)), random.Random(1)).drawn
    assert drawn.variant is not None
    assert drawn.variant.words in ("few terms", "full mantissas")
    assert drawn.tolerances is not None
    inputs = make_inputs(setting, drawn)
    want = setting.oracle.answer(inputs)
    assert worst_error([Product()(*inputs)], want, drawn.tolerances) < 0.1
    assert worst_error([model()(*inputs)], want, drawn.tolerances) > 3


@pytest.mark.parametrize(("cheaper", "loss"), [(torch.float16, 3e-4), (torch.bfloat16, 2e-3)])
def test_rounding_takes_the_same_part_of_every_number(cheaper: torch.dtype, loss: float) -> None:
    given = torch.randn(300, 300, generator=torch.Generator().manual_seed(5)).mul_(8)
    (full,) = ladders("few_terms", random.Random(1))[0].moderate[2].apply([given.clone()], 9)
    given, full = given.flatten()[1:-1], full.flatten()[1:-1]  # the first and the last are the largest
    assert bool(((full.abs() <= given.abs()) & (full.abs() > given.abs() / 2.5) & (full * given > 0)).all())
    lost = (full - full.to(cheaper).float()) / full
    assert loss < float(lost.min())
    assert float(lost.max()) < 2 * loss
    cut_off = (full - _mantissa(full, 0)) / full
    assert float(cut_off.min()) > 3e-4
    assert float(cut_off.max()) < 6e-4


def test_few_terms_are_few() -> None:
    given = torch.rand(300, 300, generator=torch.Generator().manual_seed(5))
    shares = [float((one.apply([given.clone()], 9)[0] != 0).double().mean()) for one in _few_terms()]
    assert [round(1 / share / 8) for share in shares] == [pytest.approx(128, rel=0.3), 4, 0]
    (rows,) = _few_terms()[0].apply([torch.rand(500, 2048)], 9)
    assert int((rows != 0).sum(1)[1:-1].unique()) == 2  # a vector of zeros has no direction
    (double,) = _few_terms()[2].apply([given.double()], 9)
    assert float(((double - double.float().double()) / double).min()) > 3e-8


def _few_terms() -> tuple[Variant, ...]:
    return ladders("few_terms", random.Random(1))[0].moderate


def test_tf32_passed_off_as_float32_shows_where_sums_cancel(tmp_path: Path) -> None:
    """Of numbers between 0 and 1 the sums are so large that their tolerance forgives it."""
    assert checked(setting_of(tmp_path / "right", PRODUCT), Product)[0].failed is None
    as_drawn = setting_of(tmp_path / "drawn", PRODUCT, "variants: []\n")
    assert checked(as_drawn, ProductInTf32)[0].failed is None
    signed = setting_of(tmp_path / "signed", PRODUCT, "variants: [signed]\n")
    assert verdict_of(signed, ProductInTf32)[1].startswith("with signed inputs: ")


def variant(name: VariantName, index: int = 0) -> Variant:
    ladder = ladders(name, random.Random(1))[index]
    return (*ladder.far, *ladder.moderate)[0]


def test_signs_are_as_often_minus_as_plus() -> None:
    given = torch.rand(300, 300, generator=torch.Generator().manual_seed(5))
    (signed,) = variant("signed").apply([given.clone()], 9)
    assert torch.equal(signed.abs(), given)
    assert 0.48 < float((signed < 0).double().mean()) < 0.52
    (turned,) = variant("signed").apply([given.t().clone(memory_format=torch.preserve_format)], 9)
    assert torch.equal(turned.abs(), given.t())


def test_variants_are_what_they_are_called() -> None:
    given = torch.rand(64, 64, generator=torch.Generator().manual_seed(5))
    negative, up, down, ties, shifted, infinite, nan = (
        variant(name, index).apply([given.clone(), 3], 9)[0]
        for name, index in [
            ("negative", 0), ("rescaled", 0), ("rescaled", 1), ("ties", 0), ("shifted", 0), ("infinite", 0), ("nan", 0)
        ]
    )  # fmt: skip
    assert torch.equal(negative, -given)
    assert torch.equal(up, given * 2**20)
    assert torch.equal(down, given / 2**20)
    assert len(ties.unique()) == 4
    assert 0.55 < float((shifted - given).abs().mean()) < 1.2  # two to four standard deviations of 0.29
    assert float((shifted - given).std()) < 1e-6
    assert 0 < int(infinite.isposinf().sum()) < 80
    assert int(infinite.isneginf().all(dim=1).sum()) == 1
    assert 64 < int(infinite.isneginf().sum()) < 64 + 80
    assert 40 < int(nan.isnan().sum()) <= 64


@pytest.mark.parametrize("low", [0.0, -3.0, 1000.0, 1e-310])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_four_values_of_few_bits_lie_within_what_was_drawn(low: float, dtype: torch.dtype) -> None:
    given = (torch.rand(64, 64, generator=torch.Generator().manual_seed(5)) * max(1, abs(low))).to(dtype) + low
    short_ties = variant("ties")
    (short,) = short_ties.apply([given.clone()], 9)
    values = short.unique()
    assert len(values) == 4
    assert given.min() <= values[0] < values[3] <= given.max()
    assert torch.equal(values * 32, (values * 32).round())
    tiny = torch.tensor([low, low + 5e-324], dtype=torch.float64)
    assert short_ties.apply([tiny.clone()], 9)[0].isfinite().all()


@pytest.mark.parametrize(
    "value", [torch.ones(1).expand(4), torch.rand(4, 4)[:, ::2]], ids=["expanded", "with gaps"]
)  # fmt: skip
def test_memory_between_or_under_elements_is_not_changed(value: torch.Tensor) -> None:
    before = value.clone()
    assert torch.equal(variant("rescaled").apply([value], 1)[0], before * 2**20)
    assert torch.equal(value, before)


def test_a_tensor_that_comes_twice_is_changed_once_each() -> None:
    shared = torch.ones(3)
    first, second = variant("rescaled").apply([shared, shared.view(3)], 1)
    assert (first.tolist(), second.tolist()) == ([2.0**20] * 3, [2.0**20] * 3)


def test_the_same_draw_gives_the_same_inputs(tmp_path: Path) -> None:
    setting = made(tmp_path, "x * 2")
    drawn = Drawn(77, variant("nan"))
    one, two = make_inputs(setting, drawn)[0], make_inputs(setting, drawn)[0]
    assert torch.equal(one, two) or torch.equal(one.isnan(), two.isnan())
    assert torch.equal(one.nan_to_num(), two.nan_to_num())


def test_where_ties_leave_a_choice_they_are_not_tried(tmp_path: Path) -> None:
    assert fair_in(made(tmp_path / "indices", "tuple(x.topk(3))")) == (ALL - {"few distinct"}, ())
    assert fair_in(made(tmp_path / "values", "x.sort(1).values")) == ({*ALL, "full mantissas"}, ())


@pytest.mark.gpu
def test_right_answers_that_have_room_on_the_host_alone_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem(ROOT / "problems/conv2d_square")
    setting = prepare_setting(replace(problem, tolerance=None), "small", 11, "cuda")
    monkeypatch.setattr(Oracle, "answer_if_room", lambda self, inputs: None)
    drawn = draw_variants(setting, itertools.count(), random.Random(0)).drawn
    assert {one.variant.name for one in drawn if one.variant} > {"rescaled", "few_terms"}


def test_the_reference_runs_twice_for_each_variant_that_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for its answer, and once to see that it answers alike: it may be slow."""
    setting = made(tmp_path, "torch.relu(x)")
    fair_inputs, native = draws.fair_inputs, Oracle.native
    calls: list[int] = []

    def counted(self: Oracle, inputs: Any) -> Any:
        calls[-1:] = [calls[-1] + 1]
        return native(self, inputs)

    def tried(*given: Any) -> Any:
        calls.append(0)
        return fair_inputs(*given)

    calls.append(0)
    monkeypatch.setattr(Oracle, "native", counted)
    monkeypatch.setattr(draws, "fair_inputs", tried)
    draw_variants(setting, itertools.count(), random.Random(0))
    assert set(calls[1:]) == {2}


def test_what_is_found_out_while_memory_is_short_is_for_one_solution_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = ours("avgpool2d")
    calls = itertools.count()
    fair_inputs = draws.fair_inputs

    def short(*given: Any) -> Any:
        if next(calls) == 0:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return fair_inputs(*given)

    monkeypatch.setattr(draws, "fair_inputs", short)
    first = draws.fair_variants(setting)
    assert first.drawn
    assert setting.lessons.is_short


def test_an_allocator_s_error_that_is_overcome_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([3, 3, 3, 4])
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "memory_stats", lambda: {"num_ooms": next(counts)})
    lessons = Lessons()
    with lessons.learning():
        pass
    assert not lessons.is_short
    with lessons.learning():
        pass
    assert lessons.is_short


def test_few_terms_keep_the_first_and_the_last(tmp_path: Path) -> None:
    for share in _few_terms():
        (few,) = share.apply([torch.rand(5, 70, generator=torch.Generator().manual_seed(5))], 9)
        assert bool(few.flatten()[[0, -1]].all())


AllButTheLast = computing(lambda x: x[:-1].square().sum())
TheFirstTwice = computing(lambda x: x.square().sum() + x[0].square())


@pytest.mark.parametrize("model", [AllButTheLast, TheFirstTwice])
def test_who_miscounts_the_terms_of_a_long_sum_is_seen(tmp_path: Path, model: type[nn.Module]) -> None:
    """One of 34,567 terms is less than the tolerance of their sum."""
    for variants, is_seen in (("", False), ("few_terms", True)):
        setting = made(tmp_path, "x.square().sum()", "torch.rand(34567)", f"variants: [{variants}]\n")
        assert (checked(setting, model, seeds=1)[0].failed is not None) is is_seen
