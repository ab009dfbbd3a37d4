"""Wrong answers that a problem must tell from the right one: what lazy, cheating and buggy kernels give.

They are made here from the right answer and never come from a solution. Each is given to the comparison that judges
solutions; `harness check-problem` says which of them a problem's inputs and tolerance would let pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.setting import Setting
from harness.referee.tolerance.derive import FORGIVEN, Evidence, values_around

Answers = Sequence[torch.Tensor | None]
"""An answer per output of the reference; None where the mutant doesn't fit that output."""


@dataclass(frozen=True)
class Specimen:
    """A case's inputs with the right answer, and the right answer to other inputs of the same case."""

    setting: Setting
    inputs: Sequence[Any]
    want: tuple[torch.Tensor, ...]
    """The oracle's, in the dtypes of the reference's outputs."""
    other_inputs: Sequence[Any]
    other_want: tuple[torch.Tensor, ...]
    evidence: tuple[Evidence, ...] = ()
    """For these inputs, where the tolerance is derived from it."""

    @property
    def forgiven(self) -> tuple[float, ...]:
        """By output, the share of the outputs' size by which a single element must be off to be called wrong."""
        if self.evidence:
            return tuple(one.forgiven for one in self.evidence)
        return tuple(FORGIVEN.get(str(one.dtype).removeprefix("torch."), FORGIVEN["float32"]) for one in self.want)


@dataclass(frozen=True)
class Mutant:
    """One way to be wrong. `answers` gives None where it fits no output of the problem.

    `harmless_given`: a fact about the inputs (see specimens) with which a mutant that never differs from
    the right answer is right; '' needs none, None is never harmless. `harmless` says it in words.
    """

    name: str
    what: str
    answers: Callable[[Specimen], Answers | None]
    advice: str
    harmless_given: str | None = None
    harmless: str = ""


def _each(make: Callable[[torch.Tensor], torch.Tensor | None]) -> Callable[[Specimen], Answers]:
    """Of each output's right answer, where it has elements."""
    return lambda specimen: [make(want) if want.numel() else None for want in specimen.want]


def _mean(want: torch.Tensor) -> torch.Tensor | None:
    if not want.is_floating_point() or bool((want == want.view(-1)[0]).all()):  # it is the right answer
        return None
    finite = want[torch.isfinite(want)].double()
    return torch.full_like(want, float(finite.mean())) if finite.numel() else None


def _first_input(specimen: Specimen) -> Answers | None:
    """The first tensor among the inputs, cropped or filled up with zeros to the output's shape."""
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


def _inner_element(specimen: Specimen) -> Answers:
    pairs = zip(specimen.want, specimen.forgiven, strict=True)
    return [_perturbed(want, want.numel() // 2, share) if want.numel() else None for want, share in pairs]


def _last_element(specimen: Specimen) -> Answers:
    pairs = zip(specimen.want, specimen.forgiven, strict=True)
    return [_perturbed(want, want.numel() - 1, share) if want.numel() else None for want, share in pairs]


def _perturbed(want: torch.Tensor, index: int, share: float) -> torch.Tensor:
    """One element off by a share of the root mean square around it, or of its own size where it is larger."""
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


def _without(*place: Any) -> Callable[[torch.Tensor], torch.Tensor | None]:
    """Zeros where `place` indexes, None for a tensor without so many dimensions."""

    def unwritten(want: torch.Tensor) -> torch.Tensor | None:
        needed = sum(one is not Ellipsis for one in place)
        if want.dim() < needed:
            return None
        changed = want.clone()
        changed[place] = 0
        return changed

    return unwritten


def _last_tile(want: torch.Tensor) -> torch.Tensor:
    """The end of memory, a block of 256 threads wide, or a quarter of a small output."""
    changed = want.clone()
    changed.view(-1)[-max(1, min(256, want.numel() // 4)) :] = 0
    return changed


def _shifted(dim: int) -> Callable[[torch.Tensor], torch.Tensor | None]:
    return lambda want: want.roll(1, dim) if want.dim() and want.shape[dim] > 1 else None


def _negated(want: torch.Tensor) -> torch.Tensor | None:
    return None if want.dtype in (torch.bool, torch.uint8) else -want


def _clamped(want: torch.Tensor) -> torch.Tensor | None:
    """A NaN stays one."""
    return None if want.is_complex() or want.dtype in (torch.bool, torch.uint8) else want.clamp(min=0)


_LOOSE = "lower the tolerance, or scale the problem so that its outputs are large beside it"
_UNIFORM = "outputs hardly differ: draw inputs with more spread, or lower the tolerance"
_BORDER = "outputs are zero there, or as small as the tolerance: draw other inputs, or add a case of odd size"

OF_THE_ANSWER: tuple[Mutant, ...] = (
    Mutant("zeros", "writes zeros", _each(torch.zeros_like), _LOOSE),
    Mutant("ones", "writes a constant", _each(torch.ones_like), _UNIFORM),
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
    Mutant("one_element", "gets one element wrong", _inner_element, _LOOSE),
    Mutant("last_element", "gets the last element wrong", _last_element, _LOOSE),
    Mutant("last_column", "leaves the last column unwritten", _each(_without(..., -1)), _BORDER),
    Mutant("last_row", "leaves the last row unwritten", _each(_without(..., -1, slice(None))), _BORDER),
    Mutant("last_item", "leaves the last item of dimension 0 unwritten", _each(_without(-1)), _BORDER),
    Mutant("last_tile", "leaves the last tile unwritten", _each(_last_tile), _BORDER),
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
"""Made of the right answer alone."""
