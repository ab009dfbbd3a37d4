"""Run a reference with every result a little off, as other honest formulas of the same function would have it.

What cancels depends on how results were rounded: softmax's weights add up to 1 if they were divided by their sum, and
less exactly if they come of its logarithm. Random errors in every result show how much an answer depends on that
(Parker 1997, Monte Carlo Arithmetic, UCLA CSD-970002; Vignes 1993, doi:10.1016/0378-4754(93)90003-D).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from harness.referee.answers.operator_mode import OperatorMode
from harness.referee.answers.serial_sums import decomposed, unfused

_RELATIVE = 2.0**-22
"""Two units in the last place: what CUDA's functions of float32 may be off (CUDA C++ Programming Guide, Mathematical
Functions)."""


@contextmanager
def units_off(seed: int) -> Iterator[None]:
    """Context: operations on float32 are decomposed, and each result is off by up to two units in the last place."""
    with unfused(), _UnitsOff(seed):
        yield


def _softmax(x: torch.Tensor, dim: int, *rest: Any) -> torch.Tensor:
    """Take softmax as kernels do that keep one number per row: weights add up to 1 as exactly as that is rounded."""
    return (x - x.logsumexp(dim, keepdim=True)).exp()


_OTHERWISE = {torch.ops.aten._softmax: _softmax, torch.ops.aten._safe_softmax: _softmax}


class _UnitsOff(OperatorMode):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed
        self._generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        is_float32 = bool(args) and isinstance(args[0], torch.Tensor) and args[0].dtype is torch.float32
        if not is_float32 or func.is_view:
            return func(*args, **kwargs)
        if made := _OTHERWISE.get(func.overloadpacket) or decomposed().get(func):
            with self:
                return made(*args, **kwargs)
        return self._off(func(*args, **kwargs))

    def _off(self, result: Any) -> Any:
        if not isinstance(result, torch.Tensor) or result.dtype is not torch.float32:
            return result
        device = result.device
        generator = self._generators.setdefault(device, torch.Generator(device).manual_seed(self._seed))
        factor = torch.rand(result.shape, generator=generator, device=device)
        return result * factor.mul_(2 * _RELATIVE).add_(1 - _RELATIVE)  # infinities stay
