"""Run a reference with every rounded result a little off, as other honest formulas of the same function would have it.

What cancels depends on how results were rounded: softmax's weights add up to 1 if they were divided by their sum, and
less exactly if they come of its logarithm. Random errors in every result show how much an answer depends on that
(Parker 1997, Monte Carlo Arithmetic, UCLA CSD-970002; Vignes 1993, doi:10.1016/0378-4754(93)90003-D).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.serial_sums import decomposed, unfused

UNITS = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
"""The last place of 1, by format."""
_ROUNDED = {
    *("add", "sub", "rsub", "mul", "div", "reciprocal", "addcmul", "addcdiv", "lerp", "sum", "mean", "cumsum", "prod"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logsumexp", "sqrt", "rsqrt", "pow", "tanh", "sigmoid"),
    *("erf", "erfc", "sin", "cos", "tan", "sinh", "cosh", "softplus", "gelu", "silu", "elu", "var", "var_mean", "norm"),
    *("linalg_vector_norm", "native_batch_norm", "cudnn_batch_norm", "dist", "hypot", "log_sigmoid_forward"),
}
"""Operations that round. Others, such as comparisons, maxima and copies, are exact everywhere."""
_ABORTING = ("binary_cross_entropy", "bernoulli", "multinomial")
"""Operations that abort the device where an input is a little outside of its range."""
_aten = torch.ops.aten
_SEARCHING = {_aten.bucketize, _aten.searchsorted}
_BITS = {4: torch.int32, 2: torch.int16}
"""The integers of as many bytes."""


class Untried(RuntimeError):
    """A run that could abort the device: an operation makes indices of perturbed numbers, or asks for probabilities."""


@contextmanager
def perturbed(seed: int, units: float) -> Iterator[None]:
    """Context: operations on float32 are decomposed, and each that rounds is off by up to so many units in the last
    place."""
    with unfused(), Perturbed(seed, units):
        yield


class Perturbed(OperatorMode):
    """Context: each operation on float32 that rounds is off by up to `units` in the last place."""

    def __init__(self, seed: int, units: float) -> None:
        super().__init__()
        self._seed = seed
        self._units = units

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs, packet = kwargs or {}, func.overloadpacket
        if self._makes_indices(packet, args, kwargs):
            raise Untried(str(packet))
        if not any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in args):
            return func(*args, **kwargs)
        if any(name in str(packet) for name in _ABORTING):
            raise Untried(str(packet))
        is_float32 = isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32
        if made := (_OTHERWISE.get(packet) or decomposed().get(func)) if is_float32 else None:
            with self:
                return made(*args, **kwargs)
        written = func._schema.arguments[0].alias_info
        if isinstance(args[0], torch.Tensor) and written is not None and written.is_write:  # such as x *= y
            before = [args[0].clone(), *args[1:]]
            return args[0].copy_(self._off(func(*args, **kwargs), func, before, kwargs))
        result = func(*args, **kwargs)
        if isinstance(result, tuple):
            return tuple(self._off(one, func, args, kwargs) for one in result)
        return self._off(result, func, args, kwargs)

    def _makes_indices(self, packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Say whether integers are made of numbers, and so perhaps of perturbed ones: by a unit in the last place they
        may lie outside of what they are an index into."""
        made = cast(packet, args, kwargs)
        return packet in _SEARCHING or (made is not None and made[0].is_floating_point and is_integer(made[1]))

    def _off(self, result: Any, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        is_number = isinstance(result, torch.Tensor) and result.dtype is torch.float32
        if not is_number or not is_rounded(func.overloadpacket):
            return result
        return result * (1 + noise(result, self._seed) * (self._units * UNITS[torch.float32]))  # infinities stay


def noise(values: torch.Tensor, seed: int) -> torch.Tensor:
    """Numbers from -1 to 1 by the bits of these values and the seed, so that ties stay (the mixing of C. Wellons'
    hash-prospector)."""
    mixed = values.contiguous().view(_BITS[values.itemsize]).to(torch.int32) + seed * 0x9E3779
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        mixed = (mixed ^ (mixed >> shift)) * factor
    return (mixed >> 8).to(torch.float32) / 2**23


def cast(packet: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[torch.dtype, torch.dtype] | None:
    """The formats from and to which an operation casts; None for others."""
    if packet is _aten._to_copy:
        return args[0].dtype, kwargs.get("dtype") or args[0].dtype
    return (args[1].dtype, args[0].dtype) if packet is _aten.copy_ else None


def is_integer(dtype: torch.dtype) -> bool:
    """Say whether a format holds whole numbers; truths are none."""
    return not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def is_rounded(packet: Any) -> bool:
    """Say whether an operation rounds."""
    return str(packet).rpartition(".")[2].rstrip("_") in _ROUNDED or packet in flop_registry


def _softmax(x: torch.Tensor, dim: int, *rest: Any) -> torch.Tensor:
    """Take softmax as kernels do that keep one number per row: weights add up to 1 as exactly as that is rounded."""
    total = x.logsumexp(dim, keepdim=True)
    return torch.where(total == -torch.inf, 0.0, (x - total).exp())


_OTHERWISE = {torch.ops.aten._softmax: _softmax, torch.ops.aten._safe_softmax: _softmax}
