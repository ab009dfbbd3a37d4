"""Mutants: wrong answers, such as lazy, cheating and buggy kernels give, that a problem must tell from the right one.

They are made from the right answer, or take a run of the reference with other weights, rounded operands or an input
ignored; they never come from a solution. The comparison that judges solutions judges them,
too; `harness check-problem` shows which of them a problem's inputs and tolerance would let pass.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from harness.referee.answers.comparison import parts_of
from harness.referee.answers.oracle import copied
from harness.referee.answers.roundings import ROUNDINGS, answer_with_rounded
from harness.referee.answers.rows import is_floating
from harness.referee.ceilings.work import operations_of_run
from harness.referee.setting import Setting
from harness.referee.tolerance import FORGIVEN, ErrorEvidence, values_around

Answers = Sequence[torch.Tensor | None]
"""One answer for each output of the reference; None where the mutant doesn't fit that output."""


@dataclass(frozen=True)
class Specimen:
    """The inputs of a case with the right answer, and other inputs of the same case with theirs."""

    setting: Setting
    inputs: Sequence[Any]
    want: tuple[torch.Tensor, ...]
    """The oracle's answer in the dtypes of the reference's outputs."""
    other_inputs: Sequence[Any]
    other_want: tuple[torch.Tensor, ...]
    evidence: tuple[ErrorEvidence, ...] = ()
    """The reference's errors on these inputs; empty where problem.yaml names the tolerance."""

    @property
    def forgiven(self) -> tuple[float, ...]:
        """The share of each output's size by which a single element must be off to be called wrong."""
        if self.evidence:
            return tuple(one.forgiven for one in self.evidence)
        return tuple(FORGIVEN.get(str(one.dtype).removeprefix("torch."), FORGIVEN["float32"]) for one in self.want)


@dataclass(frozen=True)
class Mutant:
    """One way to be wrong. `answers` returns None where it fits no output of the problem.

    A mutant that always equals the right answer is harmless given the fact about the inputs that `harmless_given` names
    (see specimens.py): '' needs no fact, with None it is never harmless. `harmless` says so in words.
    """

    name: str
    what: str
    answers: Callable[[Specimen], Answers | None]
    advice: str
    harmless_given: str | None = None
    harmless: str = ""


def _each(make: Callable[[torch.Tensor], torch.Tensor | None]) -> Callable[[Specimen], Answers]:
    """Make a wrong answer of each right one that has elements."""
    return lambda specimen: [make(want) if want.numel() else None for want in specimen.want]


def _mean(want: torch.Tensor) -> torch.Tensor | None:
    """The mean of the finite values everywhere; None where that is right."""
    first = want.view(-1)[0]
    if not want.is_floating_point() or all(bool((want[place] == first).all()) for place in parts_of(want)):
        return None
    wide = torch.promote_types(want.dtype, torch.float32) if want.itemsize > 1 else torch.float32
    mean = float(want.mean(dtype=wide))
    if not math.isfinite(mean):
        total, count = 0.0, 0
        for place in parts_of(want):
            finite = torch.isfinite(want[place])
            total += float(torch.where(finite, want[place], 0).double().sum())
            count += int(finite.sum())
        mean = total / count if count else math.nan
    return None if math.isnan(mean) else _filled(want, mean)


def _filled(want: torch.Tensor, value: float) -> torch.Tensor:
    """One value for each element, which takes no memory."""
    return torch.full_like(want.view(-1)[0], value).expand(want.shape)


def _first_input(specimen: Specimen) -> Answers | None:
    """The first tensor input, cropped or padded with zeros to each output's shape."""
    tensors = [value for value in specimen.inputs if isinstance(value, torch.Tensor)]
    return [_fitted(tensors[0], want) for want in specimen.want] if tensors else None


def _fitted(value: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    fitted = torch.zeros_like(want)
    if value.dim() == want.dim():
        common = tuple(slice(0, min(pair)) for pair in zip(value.shape, want.shape, strict=True))
        fitted[common] = value[common].to(want.dtype)
    else:
        count = min(value.numel(), want.numel())
        fitted.view(-1)[:count] = value.reshape(-1)[:count].to(want.dtype)
    return fitted


def _one_element(index_of: Callable[[int], int]) -> Callable[[Specimen], Answers]:
    """Perturb the element whose flat index `index_of` chooses by the number of elements."""

    def perturb(specimen: Specimen) -> Answers:
        pairs = zip(specimen.want, specimen.forgiven, strict=True)
        return [_perturbed(want, index_of(want.numel()), share) if want.numel() else None for want, share in pairs]

    return perturb


def _perturbed(want: torch.Tensor, index: int, share: float) -> torch.Tensor:
    """Move one element by a share of the root mean square around it, or of its own size if that is larger."""
    changed = want.clone()
    flat = changed.view(-1)
    if want.dtype is torch.bool:
        flat[index] = ~flat[index]
    elif not (want.is_floating_point() or want.is_complex()):
        flat[index : index + 1].view(torch.uint8)[0] ^= 1  # torch doesn't add unsigned integers of two bytes and more
    else:
        around = torch.nan_to_num(values_around(want, index).abs().double(), 0.0, 0.0, 0.0)
        own = torch.nan_to_num(flat[index].abs().double(), 0.0, 0.0, 0.0)
        amount = max(float(around.square().mean().sqrt()), float(own)) * share
        flat[index] = torch.nan_to_num(flat[index], 0.0, 0.0, 0.0) + (amount or share)
    return changed


def _without(*index: Any) -> Callable[[torch.Tensor], torch.Tensor | None]:
    """Write zeros at `index`; None for a tensor with too few dimensions."""

    def unwritten(want: torch.Tensor) -> torch.Tensor | None:
        needed = sum(one is not Ellipsis for one in index)
        if want.dim() < needed:
            return None
        changed = want.clone()
        changed[index] = 0
        return changed

    return unwritten


def _last_tile(want: torch.Tensor) -> torch.Tensor:
    """Leave the end of memory at zero: as much as a block of 256 threads writes, or a quarter of a small output."""
    changed = want.clone()
    changed.view(-1)[-max(1, min(256, want.numel() // 4)) :] = 0
    return changed


def _shifted(dim: int) -> Callable[[torch.Tensor], torch.Tensor | None]:
    return lambda want: want.roll(1, dim) if want.dim() and want.shape[dim] > 1 else None


def _negated(want: torch.Tensor) -> torch.Tensor | None:
    return None if want.dtype in _WITHOUT_A_SIGN else -want


def _clamped(want: torch.Tensor) -> torch.Tensor | None:
    """Clamp at zero; NaN stays NaN."""
    return None if want.is_complex() or want.dtype in _WITHOUT_A_SIGN else want.clamp(min=0)


_WITHOUT_A_SIGN = (torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64)


_LOOSE = "lower the tolerance, or scale the problem so that its outputs are large beside it"
_UNIFORM = "outputs hardly differ: draw inputs with more spread, or lower the tolerance"
_BORDER = "outputs are zero there, or as small as the tolerance: draw other inputs, or add a case of odd size"

OF_THE_ANSWER: tuple[Mutant, ...] = (
    Mutant("zeros", "writes zeros", _each(lambda want: _filled(want, 0)), _LOOSE),
    Mutant("ones", "writes a constant", _each(lambda want: _filled(want, 1)), _UNIFORM),
    Mutant("mean", "writes the mean of the right answer everywhere", _each(_mean), _UNIFORM),
    Mutant(
        "input_returned",
        "returns its input, cropped or filled up with zeros",
        _first_input,
        "the right answer is the input: draw inputs that the operation changes, or add cases in which it does",
    ),
    Mutant(
        "stale",
        "leaves what an earlier call wrote for other inputs: what reused memory holds",
        lambda specimen: specimen.other_want,
        "the outputs don't depend on the inputs beyond the tolerance: draw inputs with more spread, or lower it",
    ),
    Mutant("one_element", "gets one element wrong", _one_element(lambda count: count // 2), _LOOSE),
    Mutant("last_element", "gets the last element wrong", _one_element(lambda count: count - 1), _LOOSE),
    Mutant("last_column", "leaves the last column at zero", _each(_without(..., -1)), _BORDER),
    Mutant("last_row", "leaves the last row at zero", _each(_without(..., -1, slice(None))), _BORDER),
    Mutant("last_item", "leaves the last item of dimension 0 at zero", _each(_without(-1)), _BORDER),
    Mutant("last_tile", "leaves the last tile at zero", _each(_last_tile), _BORDER),
    Mutant("off_by_one", "is one column off", _each(_shifted(-1)), _UNIFORM),
    Mutant("mixed_up", "mixes up the items of dimension 0", _each(_shifted(0)), _UNIFORM),
    Mutant("sign", "has the wrong sign", _each(_negated), _LOOSE),
    Mutant(
        "starts_at_zero",
        "never goes below zero, as a maximum that starts there",
        _each(_clamped),
        "no right answer is negative: add 'negative' to the problem's variants, or draw inputs of both signs",
        "negative",
        "no right answer is negative, though inputs are",
    ),
)
"""The mutants that are made of the right answer alone."""


def recomputed(specimen: Specimen) -> tuple[Mutant, ...]:
    """The mutants that fit the problem's precision, parameters and number of inputs."""
    cheaper = _CHEAPER.get(specimen.setting.precision, ())
    if not operations_of_run(specimen.setting.model, copied(specimen.inputs)).total:
        cheaper = tuple(name for name in cheaper if name != "tf32")  # tensor cores do products alone
    rounded = tuple(_rounded(name) for name in cheaper)
    start, ignored = 0, []
    for name, parts in specimen.setting.reference.leaves(len(specimen.inputs)):
        own = slice(start, start := start + len(parts))
        if any(isinstance(value, torch.Tensor) for value in specimen.inputs[own]):
            ignored.append(_ignored(name, own))
    ignored = ignored if len(ignored) > 1 else []
    return (*rounded, *ignored, OTHER_WEIGHTS, LEFT_OUT)


def is_inexact_in(name: str, specimen: Specimen) -> bool:
    """Say whether rounding changes an input or a weight at all."""
    values = [*specimen.inputs, *specimen.setting.model.parameters()]
    return any(bool((ROUNDINGS[name](v) != v).any()) for v in values if is_floating(v))


_CHEAPER = {
    "float64": ("float32", "float16", "bfloat16"),
    "float32": ("tf32", "float16", "bfloat16"),
    "tf32": ("float16", "bfloat16"),
}
"""The cheaper precisions that might be passed off as each one; below float16 there is none."""


def _rounded(name: str) -> Mutant:
    return Mutant(
        name,
        f"computes with inputs and weights in {name}",
        partial(_with_rounded_operands, name),
        f"the tolerance forgives {name}: lower it, or declare 'precision: {name}' if that is meant",
        name,
        f"the right answer is the same in {name}, though inputs are not",
    )


def _with_rounded_operands(name: str, specimen: Specimen) -> Answers | None:
    """None without operands."""
    if not any(is_floating(value) for value in (*specimen.inputs, *specimen.setting.model.parameters())):
        return None
    answers = answer_with_rounded(ROUNDINGS[name], specimen.setting.oracle, specimen.setting.model, specimen.inputs)
    return [answer.to(want.dtype) for answer, want in zip(answers, specimen.want, strict=True)]


def _ignored(name: str, parts: slice) -> Mutant:
    return Mutant(
        f"{name.replace('input ', 'input_')}_ignored",
        f"uses an earlier value of {name}",
        partial(_with_other_input, parts),
        f"the outputs don't depend on {name} beyond the tolerance: draw it with more spread",
        "",
        f"the reference doesn't use {name}, or each draw gives the same",
    )


def _with_other_input(parts: slice, specimen: Specimen) -> Answers | None:
    inputs = list(specimen.inputs)
    inputs[parts] = specimen.other_inputs[parts]
    return _answers(specimen, specimen.setting.model, inputs)


def _with_other_weights(specimen: Specimen) -> Answers | None:
    """Use the reference's weights under another seed; None where every seed gives the same."""
    setting = specimen.setting
    model = setting.reference.construct(setting.seed("construct", "other"), setting.varied_for is not None)
    pairs = zip(model.state_dict().values(), setting.model.state_dict().values(), strict=True)
    if all(torch.equal(one, two) for one, two in pairs):
        return None
    return _answers(specimen, model, specimen.inputs)


def _with_scales_left_out(specimen: Specimen) -> Answers | None:
    """Set one-dimensional parameters to what changes nothing: scales (such as 'weight') to one, offsets to zero."""
    model = copy.deepcopy(specimen.setting.model)
    small = [(name, p) for name, p in model.named_parameters() if p.dim() <= 1 and p.is_floating_point()]
    if not small:
        return None
    with torch.no_grad():
        for name, parameter in small:
            parameter.fill_(1.0 if name.rpartition(".")[2] in ("weight", "scale", "gamma") else 0.0)
    return _answers(specimen, model, specimen.inputs)


_UNUSED_BY_A_GRADIENT = ("step", "a gradient needn't depend on the weights")

OTHER_WEIGHTS = Mutant(
    "other_weights",
    "computes with weights of its own",
    _with_other_weights,
    "the outputs don't depend on the weights beyond the tolerance: draw larger ones, or lower it",
    *_UNUSED_BY_A_GRADIENT,
)

LEFT_OUT = Mutant(
    "scales_left_out",
    "leaves out scales and offsets (biases, the weights of a normalisation)",
    _with_scales_left_out,
    "the parameters change nothing as they are initialised: draw them at random in Model.__init__()",
    *_UNUSED_BY_A_GRADIENT,
)


def _answers(specimen: Specimen, model: torch.nn.Module, inputs: Sequence[Any]) -> Answers:
    answers = specimen.setting.oracle.for_model(model).answer(inputs)
    return [answer.to(want.dtype) for answer, want in zip(answers, specimen.want, strict=True)]
