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

from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.serial_sums import decomposed, unfused

_UNIT = 2.0**-23
_ROUNDED = {
    *("add", "sub", "rsub", "mul", "div", "reciprocal", "addcmul", "addcdiv", "lerp", "sum", "mean", "cumsum", "prod"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logsumexp", "sqrt", "rsqrt", "pow", "tanh", "sigmoid"),
    *("erf", "erfc", "sin", "cos", "tan", "sinh", "cosh", "softplus", "gelu", "silu", "elu", "var", "var_mean", "norm"),
    *("linalg_vector_norm", "native_batch_norm", "cudnn_batch_norm", "dist", "hypot", "log_sigmoid_forward"),
}
"""Operations that round. Others, such as comparisons, maxima and copies, are exact everywhere."""
_ABORTING = ("binary_cross_entropy", "bernoulli", "multinomial")
"""Operations that abort the device where an input is a little outside of its range."""


class Untried(RuntimeError):
    """A run that could abort the device, or isn't continuous: an operation makes integers of perturbed numbers, or asks
    for probabilities."""


@contextmanager
def perturbed(seed: int, units: float) -> Iterator[Perturbed]:
    """Context: operations on float32 are decomposed, and each that rounds is off by up to so many units in the last
    place."""
    with unfused(), Perturbed(seed, units * _UNIT) as mode:
        yield mode


class Perturbed(OperatorMode):
    def __init__(self, seed: int, relative: float) -> None:
        super().__init__()
        self._seed = seed
        self._relative = relative
        self.has_steps = False
        """True once something was rounded to float8."""
        self._generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not (args and isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32):
            return func(*args, **kwargs)
        packet = func.overloadpacket
        if any(name in str(packet) for name in _ABORTING):
            raise Untried(str(packet))
        if made := _OTHERWISE.get(packet) or decomposed().get(func):
            with self:
                return made(*args, **kwargs)
        result = func(*args, **kwargs)
        if packet is torch.ops.aten._to_copy and not (result.is_floating_point() or result.dtype is torch.bool):
            raise Untried(str(packet))
        if packet is torch.ops.aten._to_copy and result.is_floating_point():
            self.has_steps |= result.itemsize == 1
        is_rounded = str(packet).rpartition(".")[2].rstrip("_") in _ROUNDED or packet in flop_registry
        return self._off(result) if is_rounded else result

    def _off(self, result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(map(self._off, result))
        if not isinstance(result, torch.Tensor) or result.dtype is not torch.float32:
            return result
        device = result.device
        generator = self._generators.setdefault(device, torch.Generator(device).manual_seed(self._seed))
        factor = torch.rand(result.shape, generator=generator, device=device)
        return result * factor.mul_(2 * self._relative).add_(1 - self._relative)  # infinities stay


def _softmax(x: torch.Tensor, dim: int, *rest: Any) -> torch.Tensor:
    """Take softmax as kernels do that keep one number per row: weights add up to 1 as exactly as that is rounded."""
    total = x.logsumexp(dim, keepdim=True)
    return torch.where(total == -torch.inf, 0.0, (x - total).exp())


_OTHERWISE = {torch.ops.aten._softmax: _softmax, torch.ops.aten._safe_softmax: _softmax}
