"""The choices of a reference that compares or rounds numbers: top-k's indices, an argmin, a side of a threshold.

Beside a tie the last bits decide, and each choice that rounding can lead to is right. So what a run in the reference's
own precision chose can be noted, and followed by its float64 oracle: what is left of their difference is the error of
arithmetic alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
_ROUNDING = {_aten.round, _aten.floor, _aten.ceil, _aten.trunc}
_NARROW = {torch.int8, torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz}
"""The formats that hold few numbers, so that rounding to them is a choice."""

HALVES = frozenset({torch.float16, torch.bfloat16})

Choices = list[torch.Tensor]


class Noting(OperatorMode):
    """Context: note in `choices` what operations on floating numbers choose, from its begin on, and in `halves` the
    formats of half precision to which any was cast."""

    choices: Choices
    halves: set[torch.dtype]

    def __enter__(self) -> Noting:
        self.choices, self.halves = [], set()
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if (chosen := _chosen(func, args, result)) is not None:
            self.choices.append(chosen)
        if func.overloadpacket is _aten._to_copy and result.dtype in HALVES:
            self.halves.add(result.dtype)
        return result


class Following(OperatorMode):
    """Context: operations choose what was noted, as long as they have the same to choose; `has_followed` tells whether
    they had to the end."""

    def __init__(self, choices: Choices) -> None:
        super().__init__()
        self._left: Iterator[torch.Tensor] = iter(choices)
        self._has_lost = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        own = _chosen(func, args, result)
        if own is None or self._has_lost:
            return result
        noted = next(self._left, None)
        if noted is None or noted.shape != own.shape or noted.is_floating_point() != own.is_floating_point():
            self._has_lost = True
            return result
        chosen = noted.to(own.device, own.dtype, copy=True)
        return (_values_at(func, args, kwargs or {}, chosen), chosen) if isinstance(result, tuple) else chosen

    @property
    def has_followed(self) -> bool:
        return not self._has_lost and next(self._left, None) is None


class Widened(OperatorMode):
    """Context: float64 isn't cast to half precision: such a cast tells how exact a reference is, not what it is to
    compute."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_cast = func.overloadpacket is _aten._to_copy and kwargs.get("dtype") in HALVES
        if is_cast and args[0].dtype is torch.float64:
            kwargs = {**kwargs, "dtype": torch.float64}
        return func(*args, **kwargs)


def _chosen(func: Any, args: Sequence[Any], result: Any) -> torch.Tensor | None:
    """The choice of an operation; None where it makes none."""
    if not any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in args):
        return None
    packet = func.overloadpacket
    if packet in _ORDERING:
        last = result[-1] if isinstance(result, tuple) else result
        return last if last.dtype is torch.int64 else None
    if packet in _COMPARING or packet in _ROUNDING or (packet is _aten._to_copy and result.dtype in _NARROW):
        return result  # type: ignore[no-any-return]
    return None


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
