"""The structure of a problem's inputs, as several draws of get_inputs() show it: what every variant keeps.

A kernel may rely on what holds in every draw: it needn't read the zeros of a triangular matrix or search rows that
aren't sorted. Sign and range are no structure, since most problems draw from torch.rand().
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.answers.rows import computable

_CORNER = 8
"""The number of elements along each dimension that are examined first; the whole input follows only where these fit."""
_FEWEST_COMPARED = 12
"""The number of pairs of neighbours that must be in order; fewer may be so by chance."""
_COUNTED = 2**27
"""The number of elements that are counted at a time."""
_FEW_ZEROS = 2.0**-14
"""The share of zeros that chance may bring: torch.rand() gives one in 2^24 elements, in half precision one in 2^11."""
_SUM_ERROR = 2.0**-6
"""The distance from 1 that a sum of probabilities in bfloat16 may have."""


@dataclass(frozen=True)
class InputStructure:
    """Properties that one input has in every draw seen. Dimensions are counted from the first."""

    is_whole: bool = False
    """True for a floating input that holds only integers: classes, indices, masks, one-hot rows. It stays as drawn, so
    that its range stays and distinct values stay distinct."""
    has_zeros: bool = False
    """True where it has more zeros than chance brings: it is triangular, banded or masked. Zeros stay zero."""
    is_symmetric: bool = False
    """True where it equals its transpose in the last two dimensions."""
    rising: frozenset[int] = frozenset()
    """The dimensions along which no element is below the one before it."""
    falling: frozenset[int] = frozenset()
    shares: frozenset[int] = frozenset()
    """The dimensions along which elements are not negative and add up to 1."""

    def __bool__(self) -> bool:
        return self != InputStructure()

    def shared_with(self, other: InputStructure) -> InputStructure:
        """The properties that both draws have."""
        values = {
            field.name: getattr(self, field.name) & getattr(other, field.name) for field in dataclasses.fields(self)
        }
        return InputStructure(**values)

    @property
    def is_left_alone(self) -> bool:
        """True where variants leave the input as drawn: restoring one of several structures would undo another."""
        return self.is_whole or bool(self.rising or self.falling) + bool(self.shares) + self.is_symmetric > 1

    def changed(self, value: torch.Tensor, change: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """Apply `change`, which may work in place, and restore the structure."""
        if self.is_left_alone:
            return value
        zeros = value == 0 if self.has_zeros and not (self.rising or self.falling) else None
        value = change(value)
        if zeros is not None:
            value = value.masked_fill_(zeros, 0)
        for dimension in self.shares:
            value = _divided_by_sums(value.abs(), dimension, zeros)
        for dimension in (*self.rising, *self.falling):
            value = value.sort(dim=dimension, descending=dimension in self.falling).values
        return value.triu() + value.triu(1).mT if self.is_symmetric else value


def structures_of(draws: Iterator[Sequence[Any]]) -> tuple[InputStructure, ...]:
    """The structure of each input. Draws are consumed until no input shows any."""
    found: list[InputStructure] | None = None
    for inputs in draws:
        seen = [structure_of(value) for value in inputs]
        found = seen if found is None else [one.shared_with(two) for one, two in zip(found, seen, strict=True)]
        if not any(found):
            break
        del inputs, seen  # before as much memory is asked for again
    return tuple(found or ())


def structure_of(value: Any) -> InputStructure:
    """The structure of one input in one draw. A constant has none: it is varied like anything else."""
    if not (isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel() > 1):
        return InputStructure()
    value = computable(value)
    if _holds(value, lambda part: part == value[(0,) * value.dim()]):
        return InputStructure()
    if _holds(value, lambda part: part == part.round()):
        return InputStructure(is_whole=True)
    dimensions = [number for number, size in enumerate(value.shape) if size > 1]
    rising, falling = ({one for one in dimensions if _is_rising(value, one, sign)} for sign in (1, -1))
    return InputStructure(
        has_zeros=_share_of_zeros(value) > _FEW_ZEROS,
        is_symmetric=_is_symmetric(value),
        rising=frozenset(rising - falling),
        falling=frozenset(falling - rising),
        shares=frozenset(one for one in dimensions if _adds_up_to_one(value, one)),
    )


def _share_of_zeros(value: torch.Tensor) -> float:
    """Count the zeros in parts: for the sum torch makes an int64 of every element."""
    parts = torch.split(value.flatten(), _COUNTED)
    return 1 - sum(int(part.count_nonzero()) for part in parts) / value.numel()


def _is_symmetric(value: torch.Tensor) -> bool:
    if value.dim() < 2 or value.shape[-1] != value.shape[-2] or value.shape[-1] < 2:
        return False
    corner = value[..., :_CORNER, :_CORNER]
    return torch.equal(corner, corner.mT) and torch.equal(value, value.mT)


def _is_rising(value: torch.Tensor, dimension: int, sign: int) -> bool:
    """Say whether values rise along a dimension; with sign -1, whether they fall."""
    size = value.shape[dimension]
    if value.numel() // size * (size - 1) < _FEWEST_COMPARED:
        return False
    for part in (_lines(value, dimension), value):
        before, after = part.narrow(dimension, 0, size - 1), part.narrow(dimension, 1, size - 1)
        if not bool(((after >= before) if sign > 0 else (after <= before)).all()):
            return False
    return True


def _adds_up_to_one(value: torch.Tensor, dimension: int) -> bool:
    for part in (_lines(value, dimension), value):
        error = part.sum(dimension, dtype=torch.float32).sub_(1).abs_().max()
        if bool(part.min() < 0) or not float(error) <= _SUM_ERROR:
            return False
    return True


def _divided_by_sums(value: torch.Tensor, dimension: int, zeros: torch.Tensor | None) -> torch.Tensor:
    """Divide by the sums; where a sum is 0, give equal shares to all elements but the zeros."""
    sums = value.sum(dimension, keepdim=True)
    equal = torch.ones_like(value) if zeros is None else (~zeros).to(value.dtype)
    value = torch.where(sums == 0, equal, value)
    return value / value.sum(dimension, keepdim=True)


def _holds(value: torch.Tensor, claim: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Say whether a claim is true of every element; a few are tried first."""
    corner = value[tuple(slice(_CORNER) for _ in value.shape)]
    return bool(claim(corner).all()) and bool(claim(value).all())


def _lines(value: torch.Tensor, dimension: int) -> torch.Tensor:
    """A few complete lines along a dimension."""
    return value[tuple(slice(None if number == dimension else _CORNER) for number in range(value.dim()))]
