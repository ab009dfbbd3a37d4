"""Contexts in which a problem's code is executed: on the device that the referee chose, or nearly without memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Placed(TorchFunctionMode):
    """Context: what the problem's code puts on 'cuda' comes to the referee's device instead.

    Some problems write .cuda() or device="cuda", which must work without a GPU and on meta tensors as well.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.cuda:
            func, args, kwargs = torch.Tensor.to, (args[0], self._device), {}
        placed = {key: self._replace(value) for key, value in (kwargs or {}).items()}
        if func is torch.randn and self._device == "meta":  # there it makes torch import its compiler: 3.6 s
            func = torch.empty
            placed.pop("generator", None)
        return func(*(self._replace(value) for value in args), **placed)

    def _replace(self, value: Any) -> Any:
        is_cuda = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
        return torch.device(self._device) if is_cuda else value


class WithoutFloats(Placed):
    """Context: new tensors of random floating-point numbers are meta tensors. Raises: TypeError where something is
    computed from them, such as an order or a sum, which numbers of another shape wouldn't have."""

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        are_meta = [one.is_meta for one in _tensors_among((args, *given.values()))]
        if any(are_meta) and not (all(are_meta) and func.__name__ in _KEEPING):
            raise TypeError(f"{func.__name__} of a meta tensor")
        if func in _MAKERS and _is_float(given.get("dtype")):
            func, given["device"] = torch.empty, "meta"
            given.pop("generator", None)
        return super().__torch_function__(func, kinds, args, given)


_MAKERS = (torch.randn, torch.rand, torch.zeros, torch.ones, torch.empty, torch.full, torch.normal)
_KEEPING = frozenset(
    {"__get__", "detach", "to", "half", "float", "bfloat16", "uniform_", "normal_", "contiguous", "mul", "__mul__",
     "__rmul__", "div", "__truediv__"}
)  # fmt: skip
"""Attributes, conversions, draws in place and factors: what is so made at another shape is as good."""


def _is_float(asked: torch.dtype | type | None) -> bool:
    """Say whether a tensor for which this type was asked has floating-point numbers: torch takes Python's, too."""
    is_dtype = isinstance(asked, torch.dtype) and (asked.is_floating_point or asked.is_complex)
    return asked in (None, float, complex) or is_dtype


def _tensors_among(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors_among(value)
