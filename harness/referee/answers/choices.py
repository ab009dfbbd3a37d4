"""The choices of a reference that compares or rounds numbers: top-k's indices, an argmin, a side of a threshold.

Beside a tie the last bits decide, and each choice that rounding can lead to is right. So what a run in the reference's
own precision chose can be noted, and followed by its float64 oracle: what is left of their difference is the error of
arithmetic alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.referee.answers.operator_mode import OperatorMode

_aten = torch.ops.aten
_ORDERING = {
    *(_aten.topk, _aten.sort, _aten.argmax, _aten.argmin, _aten.max, _aten.min, _aten.kthvalue, _aten.median),
    *(_aten.cummax, _aten.cummin),
}
"""Operations that give indices along a dimension, most of them after the values there."""
_COMPARING = {_aten.gt, _aten.ge, _aten.lt, _aten.le}
_ROUNDING = {
    *(_aten.round, _aten.floor, _aten.ceil, _aten.trunc, _aten.sign, _aten.floor_divide),
    *(_aten.bucketize, _aten.searchsorted),
}
_WITH_ROUNDING = {_aten.div.Tensor_mode, _aten.div.Scalar_mode}
FLOAT8 = {torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz}


@dataclass(frozen=True)
class Choice:
    """The result `made` of an `operation` whose first argument has the shape `given`: indices, truths, or numbers."""

    operation: Any
    given: torch.Size | None
    made: torch.Tensor

    def fits(self, other: Choice) -> bool:
        """Say whether the other one is a choice of the same kind among as many."""
        mine, its = ((one.operation, one.given, one.made.shape, one.made.is_floating_point()) for one in (self, other))
        return mine == its


class Noting(OperatorMode):
    """Context: note in `choices` what operations on floating numbers choose, from its begin on."""

    choices: list[Choice]

    def __enter__(self) -> Noting:
        self.choices = []
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if chosen := _chosen(func, args, result):
            self.choices.append(replace(chosen, made=chosen.made.clone()))  # the reference may go on to change it
        return result


class Following(OperatorMode):
    """Context: operations choose what was noted, as long as they have the same to choose; `has_followed` tells whether
    they had to the end."""

    def __init__(self, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._left = iter(choices)
        self._has_lost = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        own = None if self._has_lost else _chosen(func, args, result)
        if own is None:
            return result
        noted = next(self._left, None)
        if noted is None or not noted.fits(own):
            self._has_lost = True
            return result
        chosen = noted.made.to(own.made.device, own.made.dtype, copy=True)
        return (_values_at(func, args, kwargs or {}, chosen), chosen) if isinstance(result, tuple) else chosen

    @property
    def has_followed(self) -> bool:
        return not self._has_lost and next(self._left, None) is None


def _chosen(func: Any, args: Sequence[Any], result: Any) -> Choice | None:
    """The choice of an operation; None where it makes none."""
    if not any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in args):
        return None
    packet, made = func.overloadpacket, result[-1] if isinstance(result, tuple) else result
    if packet in _ORDERING:
        is_choice = made.dtype is torch.int64
    else:
        is_cast = packet is _aten._to_copy and _holds_few(made.dtype)
        is_choice = packet in _COMPARING or packet in _ROUNDING or func in _WITH_ROUNDING or is_cast
    given = args[0].shape if isinstance(args[0], torch.Tensor) else None
    return Choice(packet, given, made) if is_choice else None


def _holds_few(dtype: torch.dtype) -> bool:
    """Say whether a format holds few numbers, so that rounding to it is a choice."""
    return dtype in FLOAT8 or not (dtype.is_floating_point or dtype.is_complex)


def _values_at(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], indices: torch.Tensor) -> torch.Tensor:
    """The values at an operation's indices, along the dimension that it was asked for."""
    asked = {one.name: value for one, value in zip(func._schema.arguments, args, strict=False)} | dict(kwargs)
    defaults = {one.name: one.default_value for one in func._schema.arguments if one.has_default_value()}
    values: torch.Tensor = asked["self"]
    dim: int = {**defaults, **asked}["dim"]
    if not values.dim():
        return values.clone()
    if indices.dim() < values.dim():
        return values.gather(dim, indices.unsqueeze(dim)).squeeze(dim)
    return values.gather(dim, indices)
