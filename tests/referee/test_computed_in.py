"""The arithmetic that results show is named, whatever a solution declares."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from harness.model.check import Tolerance
from harness.model.verdict import Verdict
from harness.referee.answers.comparison import comparison_of
from harness.referee.answers.roundings import ROUNDINGS, to_and_back
from harness.referee.computed_in import computed_in, what_explains
from harness.referee.inputs.draws import Drawn, draw_variants, make_inputs
from harness.referee.setting import Setting
from tests.referee.in_process import checked
from tests.referee.inputs.test_variants import made
from tests.wording import tells

Way = Callable[[torch.Tensor], torch.Tensor]
EIGHT_BITS = to_and_back(torch.float8_e4m3fn)


def problem(
    folder: Path, precision: str = "float32", layers: int = 1, rows: int = 64, more: str = "independent_batch: true"
) -> Setting:
    dtype = "float32" if precision == "tf32" else precision
    init = f"self.layers = nn.ModuleList(nn.Linear(96, 96) for _ in range({layers})).to(torch.{dtype})"
    forward = "for layer in self.layers:\n    x = layer(x).relu()\nreturn x"
    yaml = f"precision: {precision}\n{more}\n"
    return made(folder, forward, f"torch.rand({rows}, 96).to(torch.{dtype})", yaml, init=init)


def name_of(setting: Setting, x_as: Way, weights_as: Way | None = None) -> str | None:
    """The name of what a perceptron shows that rounds inputs and weights of every layer so."""
    variants = draw_variants(setting, count(), random.Random(3)).drawn
    drawn = next(one for one in variants if one.variant and one.variant.name == "few_terms")
    x = given = make_inputs(setting, drawn)[0]
    for layer in setting.model.layers:  # type: ignore[union-attr]
        weight = (weights_as or x_as)(layer.weight.detach())
        x = functional.linear(x_as(x).double(), weight.double(), layer.bias.detach().double()).relu().to(given.dtype)
    return computed_in(setting, [given], [x])


def truncated(x: torch.Tensor) -> torch.Tensor:
    return (x.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("layers", [1, 6])
@pytest.mark.parametrize(
    ("rounding", "name"),
    [
        (lambda x: x, "float32"),
        (ROUNDINGS["tf32"], "tf32"),
        (truncated, "tf32"),
        (ROUNDINGS["float16"], "tf32"),  # the mantissa is the same, and the range tells
        (ROUNDINGS["bfloat16"], "bfloat16"),
    ],
)
def test_what_operands_are_rounded_to_is_named(tmp_path: Path, rounding: Way, name: str, layers: int) -> None:
    assert name_of(problem(tmp_path, layers=layers), rounding) == name


def test_weights_that_are_rounded_alone_are_named(tmp_path: Path) -> None:
    assert name_of(problem(tmp_path), lambda x: x, ROUNDINGS["bfloat16"]) == "bfloat16"


@pytest.mark.parametrize(
    ("precision", "rounding", "name"),
    [
        ("tf32", ROUNDINGS["tf32"], "tf32"),
        ("tf32", lambda x: x, "float32"),
        ("float64", ROUNDINGS["float32"], "float32"),
        ("float64", lambda x: x, "float64"),
        ("bfloat16", lambda x: x, "bfloat16"),
        ("bfloat16", EIGHT_BITS, "float8_e4m3"),
        ("bfloat16", to_and_back(torch.float8_e5m2), "float8_e5m2"),
        ("bfloat16", lambda x: EIGHT_BITS(x.float() * (448 / x.max())) / 448 * x.max(), "float8_e4m3"),
        ("float16", ROUNDINGS["bfloat16"], "bfloat16"),
    ],
)  # fmt: skip
def test_what_is_cheaper_depends_on_the_problem(tmp_path: Path, precision: str, rounding: Way, name: str) -> None:
    assert name_of(problem(tmp_path, precision), rounding) == name


def summed(dtype: torch.dtype, step: int) -> Callable[[torch.Tensor, nn.Linear], torch.Tensor]:
    """A layer whose sums are kept in this format, and rounded after so many terms."""

    def layer_of(x: torch.Tensor, layer: nn.Linear) -> torch.Tensor:
        total, weight = torch.zeros(len(x), layer.out_features, dtype=dtype), layer.weight.float().t()
        for start in range(0, layer.in_features, step):
            stop = start + step
            total = (total.double() + x[:, start:stop].double() @ weight[start:stop].double()).to(dtype)
        return (total.double() + layer.bias.double()).relu().to(x.dtype)

    return layer_of


@pytest.mark.parametrize("step", [1, 16])
@pytest.mark.parametrize(
    ("precision", "dtype", "name"),
    [
        ("bfloat16", torch.bfloat16, "sums in bfloat16"),
        ("bfloat16", torch.float32, "bfloat16"),
        ("float16", torch.bfloat16, "sums in bfloat16"),
        ("float32", torch.float16, "sums in float16"),
        ("tf32", torch.float16, "sums in float16"),
    ],
)
def test_sums_that_are_kept_in_less_are_named(
    tmp_path: Path, precision: str, dtype: torch.dtype, name: str, step: int
) -> None:
    setting = problem(tmp_path, precision)
    given = make_inputs(setting, Drawn(7))[0]
    layer = setting.model.layers[0]  # type: ignore[union-attr,index]
    assert computed_in(setting, [given], [summed(dtype, step)(given, layer).detach()]) == name


class SummedInHalf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(96, 96)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return summed(torch.float16, 1)(x, self.layers[0])  # type: ignore[arg-type]


def test_a_failure_says_that_its_sums_are_kept_in_less(tmp_path: Path) -> None:
    failed = checked(problem(tmp_path), SummedInHalf)[0].failed
    assert failed is not None
    assert tells(failed.failure.reason, "sums in float16 explain")


@pytest.mark.parametrize("scaled", ["rows", "all"])
def test_eight_bits_are_named_with_scales_of_rows_and_columns(tmp_path: Path, scaled: str) -> None:
    def rounded(x: torch.Tensor) -> torch.Tensor:
        largest = x.abs().amax(1, keepdim=True) if scaled == "rows" else x.abs().amax()
        return (EIGHT_BITS(x.double() * 448 / largest.double()) * largest.double() / 448).to(x.dtype)

    assert name_of(problem(tmp_path, "bfloat16"), rounded) == "float8_e4m3"


ELEMENTWISE = "return torch.tanh(x * 1.7 + 0.3) * x"


@pytest.mark.parametrize(
    ("dtype", "name"), [(torch.float32, "float32"), (torch.bfloat16, "bfloat16"), (torch.float16, "tf32")]
)
def test_elementwise_arithmetic_that_is_cheaper_throughout_is_named(
    tmp_path: Path, dtype: torch.dtype, name: str
) -> None:
    setting = made(tmp_path, ELEMENTWISE, "torch.randn(64, 96)", "independent_batch: true\n")
    given = make_inputs(setting, Drawn(7))[0]
    x = given.to(dtype)
    assert computed_in(setting, [given], [(torch.tanh(x * 1.7 + 0.3) * x).float()]) == name


def test_wrong_values_have_no_name(tmp_path: Path) -> None:
    assert name_of(problem(tmp_path), lambda x: x * 1.001) is None
    assert name_of(problem(tmp_path), lambda x: x.roll(1, 0)) is None


class Linear(nn.Module):
    """The reference's network, with operands that lose precision first."""

    rounding: Way = staticmethod(lambda x: x)

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(96, 96)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        layer = self.layers[0]
        return functional.linear(self.rounding(x), self.rounding(layer.weight), layer.bias).relu()


class InHalf(Linear):
    rounding = staticmethod(ROUNDINGS["float16"])


class InBfloat16(Linear):
    rounding = staticmethod(ROUNDINGS["bfloat16"])


def test_the_outcome_has_the_name(tmp_path: Path) -> None:
    assert checked(problem(tmp_path), Linear)[0].computed_in == "float32"
    lenient = problem(tmp_path, more="tolerance: {atol: 1.0e-2, rtol: 1.0e-2}")
    assert checked(lenient, InHalf)[0].computed_in == "float16"
    assert checked(lenient, InBfloat16)[0].computed_in == "bfloat16"


def test_what_explains_a_failure_explains_its_first_elements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One element is far out, and hardly adds to the error of all; the rows about it are looked at alone."""
    monkeypatch.setattr("harness.referee.computed_in._EXAMINED", 12 * 96)
    setting = problem(tmp_path)
    given = torch.rand(64, 96)
    layer = setting.model.layers[0]  # type: ignore[union-attr,index]
    exactly, got = (
        functional.linear(way(given).double(), way(layer.weight.detach()).double(), layer.bias.detach().double()).relu()
        for way in (lambda x: x, ROUNDINGS["tf32"])
    )
    got[:40] = exactly[:40]
    least = Tolerance(1e-9, 0.0)

    def explained() -> str | None:
        check = setting.check(0, "complete", (comparison_of(got, exactly, least),))
        return what_explains(setting, [given], [got], check)

    assert tells(explained(), "tf32")
    got[40, 0] += 10 * (got - exactly).square().mean().sqrt()
    assert explained() is None
    got[40, 0] = torch.nan
    assert explained() is None


class WithGelu(nn.Module):
    wrong = 0.0

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(96, 96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.gelu(self.layer(x), approximate="tanh") + self.wrong


class WithGeluAndOffset(WithGelu):
    wrong = 0.002


@pytest.mark.parametrize(("model", "is_said"), [(WithGelu, True), (WithGeluAndOffset, False)])
def test_a_failure_says_that_tanh_stands_for_erf(tmp_path: Path, model: type[nn.Module], is_said: bool) -> None:
    gelu, given = "nn.functional.gelu(self.layer(x))", "torch.randn(64, 96)"
    failed = checked(made(tmp_path, gelu, given, init="self.layer = nn.Linear(96, 96)"), model)[0].failed
    assert failed is not None
    assert tells(failed.failure.reason, "tanh", "erf") is is_said
    assert ("erff()" in failed.failure.next_step) is is_said


class NearlyRight(Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        y[3, 5] += 0.004 * y.square().mean().sqrt()
        return y


def test_a_finer_arithmetic_explains_no_failure(tmp_path: Path) -> None:
    """One wrong element in many is less than tf32 would do, and outside of its tolerance."""
    setting = problem(tmp_path, "tf32", rows=4096, more="tolerance: {atol: 1.0e-6, rtol: 1.0e-3}")
    failed = checked(setting, NearlyRight)[0].failed
    assert failed is not None
    assert "explain" not in failed.failure.reason


def test_a_failure_says_which_precision_explains_it(tmp_path: Path) -> None:
    failed = checked(problem(tmp_path), InBfloat16)[0].failed
    assert failed is not None
    assert failed.verdict is Verdict.WRONG_VALUES
    assert "bfloat16" in failed.failure.reason
    assert "precision" in failed.failure.next_step


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x) * 2


def test_nothing_hangs_on_a_name_that_cannot_be_found(tmp_path: Path) -> None:
    """Of what a reference keeps there are no copies."""
    keeping = "self.last = self.norm(x)\nreturn self.last * 2"
    setting = made(tmp_path, keeping, "torch.rand(8, 96)", "backward: true\n", init="self.norm = nn.LayerNorm(96)")
    assert checked(setting, Norm)[0].failed is None


@pytest.mark.parametrize(
    ("forward", "dtype"),
    [("x.bfloat16() * 2.5", "float8_e4m3fn"), ("x @ self.weight + (x[:, :0] @ self.weight[:0])", "bfloat16")],
)
def test_naming_leaves_the_oracle_as_it_is(tmp_path: Path, forward: str, dtype: str) -> None:
    init = "self.weight = nn.Parameter(torch.rand(96, 4).bfloat16())"
    setting = made(tmp_path, forward, f"torch.rand(8, 96).to(torch.{dtype})", "precision: bfloat16\n", init=init)
    assert checked(setting, type(setting.model))[0].failed is None
    assert setting.oracle.kind == "float64"
