"""Run a reference with its products of float8 numbers summed as tensor cores sum them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

from harness.referee.answers.choices import FLOAT8
from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.perturbed import noise
from harness.referee.answers.rows import is_floating

_aten = torch.ops.aten
_PRODUCTS = {_aten.mm, _aten.bmm, _aten.addmm, _aten.baddbmm}
_SCALING = {_aten.mul, _aten.div, _aten.mul_, _aten.div_}
_MOVING = {
    *(_aten._to_copy, _aten.clone, _aten._unsafe_view, _aten.cat, _aten.stack, _aten.index, _aten.index_select),
    *(_aten.gather, _aten.embedding, _aten.repeat, _aten.constant_pad_nd, _aten.where, _aten.masked_fill),
    *(_aten.flip, _aten.roll, _aten.tril, _aten.triu, _aten.neg, _aten.abs, _aten.relu),
}
"""Operations whose results are numbers that they were given, but for zeros and signs."""
_SHARED = 8
"""The least number of values of float8 that have one scale."""
_UNIT_OF_FLOAT8_SUMS = 2.0**-12
"""The standard deviation of a tensor core's sum, of its size: 2^-13 where signs cancel, 2^-11 where all terms have one
(measured)."""


class Float8Sums(OperatorMode):
    """Context: matrix products of float8 numbers, and of multiples of them, are off as Hopper's tensor cores are, which
    keep about 14 bits of each sum of 128 terms (DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2; an H200
    errs so, for 128 to 32,768 terms). `count` says how many there were."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._multiples = WeakTensorKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs, packet = kwargs or {}, func.overloadpacket
        result = func(*args, **kwargs)
        floating = list(filter(is_floating, tree_leaves(args)))
        if packet in _PRODUCTS and all(map(self._holds_float8, floating[-2:])):
            self.count += 1
            return self._off(result, floating[-2], floating[-1], abs(kwargs.get("alpha", 1)))
        if self._keeps_float8(func, floating, result):
            self._multiples.update((one, True) for one in filter(is_floating, tree_leaves(result)))
        return result

    def _off(self, result: torch.Tensor, left: torch.Tensor, right: torch.Tensor, factor: float) -> torch.Tensor:
        left, right = left.double(), right.double()
        size = factor * ((left @ right).abs() + (left**2 @ right**2).sqrt())
        normal = noise(result.float(), self._seed).clamp(min=-1 + 2**-23).erfinv() * 2**0.5
        off = (result + normal * size * _UNIT_OF_FLOAT8_SUMS).to(result.dtype)
        return torch.where(result.isfinite(), off, result)

    def _keeps_float8(self, func: Any, floating: Sequence[torch.Tensor], result: Any) -> bool:
        """Say whether a result holds float8 numbers, or multiples of them, as all `floating` operands do."""
        packet, given = func.overloadpacket, [self._holds_float8(one) for one in floating]
        if packet in _SCALING:
            return any(given) and all(held or _is_scale(one, result) for one, held in zip(floating, given, strict=True))
        if packet is _aten.copy_:
            return given[-1:] == [True]
        shared = func._schema.returns[0].alias_info if func._schema.returns else None
        moves = packet in _MOVING or (shared is not None and not shared.is_write)
        return moves and any(given) and all(held or not one.dim() for one, held in zip(floating, given, strict=True))

    def _holds_float8(self, tensor: torch.Tensor) -> bool:
        return tensor.dtype in FLOAT8 or tensor in self._multiples


def _is_scale(factor: torch.Tensor, result: torch.Tensor) -> bool:
    """Say whether one factor counts for many numbers, as a scale of float8's does."""
    if factor.numel() < result.numel():
        return True
    different: torch.Tensor = factor.unique()  # type: ignore[no-untyped-call]
    return _SHARED * different.numel() <= factor.numel()
