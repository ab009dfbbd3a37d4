"""Mutants: wrong answers, such as lazy, cheating and buggy kernels give, that a problem must tell from the right one.

They are made from the right answer and never come from a solution. The comparison that judges solutions judges them,
too; `harness check-problem` shows which of them a problem's inputs and tolerance would let pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.answers.comparison import parts_of
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
        flat[index] += 1
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
    return None if want.dtype in (torch.bool, torch.uint8) else -want


def _clamped(want: torch.Tensor) -> torch.Tensor | None:
    """Clamp at zero; NaN stays NaN."""
    return None if want.is_complex() or want.dtype in (torch.bool, torch.uint8) else want.clamp(min=0)


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
