"""Tf32: whether a GPU uses it, and convolutions as cuDNN computes them by default, for a device that has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from harness.referee.answers.serial_sums import Recomputed

_HALF_A_STEP, _DROPPED = 1 << 12, (1 << 13) - 1
"""Tf32 keeps ten of the 23 bits of float32's mantissa."""


@contextmanager
def tf32_allowed(is_allowed: bool) -> Iterator[None]:
    """Context: a GPU may take products and convolutions of float32 in tf32, or may not."""
    switches: tuple[Any, ...] = torch.backends.cudnn, torch.backends.cuda.matmul
    before = [switch.allow_tf32 for switch in switches]
    for switch in switches:
        switch.allow_tf32 = is_allowed
    try:
        yield
    finally:
        for switch, was_allowed in zip(switches, before, strict=True):
            switch.allow_tf32 = was_allowed


def rounded_to_tf32(x: torch.Tensor) -> torch.Tensor:
    """Round to nearest, ties away from zero, as cvt.rna.tf32.f32 does (PTX ISA 8.7, section 9.7.9)."""
    return ((x.contiguous().view(torch.int32) + _HALF_A_STEP) & ~_DROPPED).view(torch.float32)


def cut_to_tf32(x: torch.Tensor) -> torch.Tensor:
    """Drop the bits of a float32 that tensor cores don't read: so do mma without cvt, and Triton's dot."""
    return (x.contiguous().view(torch.int32) & ~_DROPPED).view(torch.float32)


def convolutions_in_tf32(shortened: Callable[[torch.Tensor], torch.Tensor] = rounded_to_tf32) -> Recomputed:
    """Context: convolutions of float32 tensors take what they multiply so shortened, and add up in float32."""
    aten = torch.ops.aten

    def convolution(x: torch.Tensor, weight: torch.Tensor, *rest: Any) -> Any:
        given = (x, weight) if _is_depthwise(x, weight, *rest) else map(shortened, (x, weight))
        return aten.convolution(*given, *rest)

    def convolution_backward(by_output: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, *rest: Any) -> Any:
        given = by_output, x, weight
        return aten.convolution_backward(*(given if _is_depthwise(x, weight, *rest) else map(shortened, given)), *rest)

    return Recomputed({aten.convolution: convolution, aten.convolution_backward: convolution_backward})


def _is_depthwise(x: torch.Tensor, weight: torch.Tensor, *rest: Any) -> bool:
    """Say whether torch takes its own kernels for it, which compute in float32 (ConvParams::is_depthwise)."""
    is_transposed, groups = rest[4], rest[6]
    return not is_transposed and groups > 1 and x.shape[1] == groups and weight.shape[0] % groups == 0
