"""Run a reference with every rounded result a little off, as other honest formulas of the same function would have it.

What cancels depends on how results were rounded: softmax's weights add up to 1 if they were divided by their sum, and
less exactly if they come of its logarithm. Random errors in every result show how much an answer depends on that
(Parker 1997, Monte Carlo Arithmetic, UCLA CSD-970002; Vignes 1993, doi:10.1016/0378-4754(93)90003-D).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.flop_counter import flop_registry

from harness.referee.answers.choices import HALVES
from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.serial_sums import decomposed, unfused

_UNITS = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
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
_INDEXING = {*(torch.ops.aten._to_copy, torch.ops.aten.copy_, torch.ops.aten.bucketize, torch.ops.aten.searchsorted)}
_INDICES = {torch.int32, torch.int64}
"""Operations whose integers, by a unit in the last place, may lie outside of what they are an index into."""


class Untried(RuntimeError):
    """A run that could abort the device: an operation makes indices of perturbed numbers, or asks for probabilities."""


@contextmanager
def perturbed(seed: int, units: float, of_halves: float = 0.0) -> Iterator[None]:
    """Context: operations on float32 are decomposed, and each that rounds is off by up to so many units in the last
    place; `of_halves`: the same for operations on float16 and bfloat16, as they are, and for casts to these."""
    with unfused(), _Perturbed(seed, {dtype: units if dtype is torch.float32 else of_halves for dtype in _UNITS}):
        yield


class _Perturbed(OperatorMode):
    def __init__(self, seed: int, units: dict[torch.dtype, float]) -> None:
        super().__init__()
        self._seed = seed
        self._relative = {dtype: count * _UNITS[dtype] for dtype, count in units.items()}
        self._generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not any(isinstance(value, torch.Tensor) and value.is_floating_point() for value in args):
            return func(*args, **kwargs)
        packet = func.overloadpacket
        if any(name in str(packet) for name in _ABORTING):
            raise Untried(str(packet))
        is_float32 = isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32
        if made := (_OTHERWISE.get(packet) or decomposed().get(func)) if is_float32 else None:
            with self:
                return made(*args, **kwargs)
        result = func(*args, **kwargs)
        if packet in _INDEXING and result.dtype in _INDICES:
            raise Untried(str(packet))
        is_rounded = str(packet).rpartition(".")[2].rstrip("_") in _ROUNDED or packet in flop_registry
        is_cast = packet is torch.ops.aten._to_copy and result.dtype in HALVES
        return self._off(result) if is_rounded or is_cast else result

    def _off(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(map(self._off, result))
        relative = self._relative.get(result.dtype) if isinstance(result, torch.Tensor) else None
        if not relative:
            return result
        device = result.device
        generator = self._generators.setdefault(device, torch.Generator(device).manual_seed(self._seed))
        factor = torch.rand(result.shape, generator=generator, device=device)
        return (result * factor.mul_(2 * relative).add_(1 - relative)).to(result.dtype)  # infinities stay


def _softmax(x: torch.Tensor, dim: int, *rest: Any) -> torch.Tensor:
    """Take softmax as kernels do that keep one number per row: weights add up to 1 as exactly as that is rounded."""
    total = x.logsumexp(dim, keepdim=True)
    return torch.where(total == -torch.inf, 0.0, (x - total).exp())


_OTHERWISE = {torch.ops.aten._softmax: _softmax, torch.ops.aten._safe_softmax: _softmax}
