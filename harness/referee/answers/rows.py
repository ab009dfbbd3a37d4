"""Rows: parts of the inputs that give one part of the outputs each, so that an answer can be computed in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.answers.output_spec import OutputSpec

_ROUNDING = 0.01
"""Two answers agree within this share of the output's root mean square; tf32 in another algorithm stays below it."""
_NEGLIGIBLE = 1e-4


@dataclass(frozen=True)
class Rows:
    """A division of the inputs into `count` parts, each of which gives its row (dimension 0) of every output alone.

    `axes` has the dimension along which each tensor input is divided; None for one that every part needs whole.
    """

    count: int
    axes: tuple[int | None, ...]

    @property
    def are_items(self) -> bool:
        """True where a row of the outputs needs one row of every input."""
        return all(axis == 0 for axis in self.axes)

    def of(self, inputs: Sequence[Any], part: slice) -> list[Any]:
        """The inputs of these rows, as views. Plain values stay as they are."""
        start, count = part.start, part.stop - part.start
        return [value if axis is None else value.narrow(axis, start, count) for value, axis in self.with_axes(inputs)]

    def together(self, inputs: Sequence[Any], picks: Sequence[int]) -> list[Any]:
        """The inputs of chosen rows, copied in this order."""
        return [_chosen(value, axis, picks) for value, axis in self.with_axes(inputs)]

    def fit(self, inputs: Sequence[Any]) -> bool:
        """Say whether these inputs have all rows, so that they can be divided."""
        return all(axis is None or value.shape[axis] == self.count for value, axis in self.with_axes(inputs))

    def with_axes(self, inputs: Sequence[Any]) -> list[tuple[Any, int | None]]:
        """Each input with its axis; None also for what is no tensor."""
        axes = iter(self.axes)
        return [(value, next(axes) if isinstance(value, torch.Tensor) else None) for value in inputs]


def claimed_rows(inputs: Sequence[Any], spec: OutputSpec) -> Rows | None:
    """The rows that `independent_batch` claims: dimension 0 of all tensors; None where their lengths differ."""
    tensors = tensors_in(inputs)
    counts = {tensor.shape[0] if tensor.dim() else None for tensor in tensors}
    counts |= {shape[0] if shape else None for shape in spec.shapes}
    count = counts.pop() if len(counts) == 1 else None
    return Rows(count, (0,) * len(tensors)) if count else None


def possible_rows(inputs: Sequence[Any], spec: OutputSpec) -> Iterator[Rows]:
    """Divisions to try: dimension 0 of all inputs that are as long as the outputs, then one dimension of one input.

    There is none where an input may hold indices: those into a divided tensor would be out of bounds, which aborts
    the device.
    """
    tensors = tensors_in(inputs)
    lengths = {shape[0] if shape else 0 for shape in spec.shapes}
    count = lengths.pop() if len(lengths) == 1 else 0
    if count < 2 or any(_may_be_indices(tensor) for tensor in tensors):
        return
    tried = []
    first = tuple(0 if tensor.dim() and tensor.shape[0] == count else None for tensor in tensors)
    single = [
        tuple(axis if other == number else None for other in range(len(tensors)))
        for number, tensor in enumerate(tensors)
        for axis in range(tensor.dim())
        if tensor.shape[axis] == count
    ]
    for axes in (first, *single):
        if any(axis is not None for axis in axes) and axes not in tried:
            tried.append(axes)
            yield Rows(count, axes)


def some_rows(count: int) -> list[int]:
    """The first, the middle and the last row."""
    return sorted({0, count // 2, count - 1})


def agree_roughly(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Say whether two answers of the same precision differ by no more than a change of algorithm explains."""
    if not one.is_floating_point():
        return bool((one != two).double().mean() <= _ROUNDING)
    error, finite = (one.double() - two.double()), one.isfinite() & two.isfinite()
    if bool((one.isfinite() != two.isfinite()).any()):
        return False
    if not bool(finite.any()):
        return True
    size = float(two.double()[finite].square().mean().sqrt())
    return float(error[finite].square().mean().sqrt()) <= _ROUNDING * size + _NEGLIGIBLE


def tensors_in(inputs: Iterable[Any]) -> list[torch.Tensor]:
    return [value for value in inputs if isinstance(value, torch.Tensor)]


def is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def computable(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor in a type that torch computes with: float8 holds numbers alone."""
    return tensor.float() if is_floating(tensor) and tensor.itemsize == 1 else tensor


def _may_be_indices(tensor: torch.Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype is torch.bool)


def _chosen(value: Any, axis: int | None, picks: Sequence[int]) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone() if axis is None else torch.cat([value.narrow(axis, pick, 1) for pick in picks], axis)
    return value
