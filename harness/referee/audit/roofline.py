"""Speeds beyond what the device can do: bytes that must move, and operations that must be done."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import torch

from harness.records.ceilings import Ceilings
from harness.records.evaluation import Work
from harness.referee.outcome import SolutionFailed
from harness.referee.setting import Setting

_SLACK = 0.95
"""Of the measured rate: the best of five copies isn't the very best."""
_FEWER_OPERATIONS = 4.0
"""Winograd's F(4×4, 3×3) does a convolution with a quarter of the multiplications."""
_SAMPLES = 32
_FAR = 1e4


def require_possible(
    median_ns: float, work: Work, ceilings: Ceilings, share_that_matters: Callable[[], float]
) -> tuple[str, ...]:
    """Remarks where the arithmetic is surprising but has an honest explanation.

    `share_that_matters`: what part of the inputs' bytes the output depends on; asked only where it decides.

    Raises: SolutionFailed.
    """
    remarks = []
    rate = ceilings.memory_bytes_per_s
    floor_ns = _SLACK * work.least_bytes / rate * 1e9
    if median_ns < floor_ns:
        remarks.append(_judge_bytes(median_ns, work.least_bytes, ceilings, share_that_matters))
    if work.operations is not None:
        floor_ns = _SLACK * work.operations / ceilings.operations_per_s * 1e9
        if median_ns < floor_ns:
            remarks.append(_judge_operations(median_ns, work.operations, ceilings))
    return tuple(remarks)


def _judge_bytes(median_ns: float, nbytes: int, ceilings: Ceilings, share_that_matters: Callable[[], float]) -> str:
    """What was written last may still lie in the cache when the clock stops: so much needn't have reached memory."""
    rate = ceilings.memory_bytes_per_s
    arithmetic = (
        f"{median_ns / 1e3:.1f} µs for {nbytes / 1e6:.1f} MB are {nbytes / median_ns / 1e3:.2f} TB/s; the device's "
        f"memory moves {rate / 1e12:.2f} TB/s"
    )
    certain = nbytes - ceilings.cache_bytes
    if certain <= 0:
        return f"{arithmetic}; its cache of {ceilings.cache_bytes / 1e6:.0f} MB holds them all"
    if median_ns >= _SLACK * certain / rate * 1e9:
        return f"{arithmetic}; its cache may hold {ceilings.cache_bytes / 1e6:.0f} MB of what was written"
    share = share_that_matters()
    if median_ns >= _SLACK * (share * nbytes - ceilings.cache_bytes) / rate * 1e9:
        return f"{arithmetic}; but the output depends on about {share:.0%} of the inputs only"
    raise SolutionFailed.cheating(
        "roofline",
        arithmetic,
        median_ns=median_ns,
        least_bytes=nbytes,
        memory_bytes_per_s=rate,
        cache_bytes=ceilings.cache_bytes,
        share_that_matters=share,
    )


def _judge_operations(median_ns: float, operations: int, ceilings: Ceilings) -> str:
    rate = ceilings.operations_per_s
    arithmetic = (
        f"{median_ns / 1e3:.1f} µs for {operations / 1e9:.1f} billion operations are "
        f"{operations / median_ns / 1e3:.0f} TFLOP/s; the device's fastest matrix product does {rate / 1e12:.0f}"
    )
    if median_ns >= _SLACK * operations / (rate * _FEWER_OPERATIONS) * 1e9:
        return f"{arithmetic}; algorithms with fewer operations exist (Winograd, FFT)"
    raise SolutionFailed.cheating(
        "roofline", arithmetic, median_ns=median_ns, operations=operations, operations_per_s=rate
    )


def share_of_inputs(setting: Setting) -> float:
    """About what part of the inputs' bytes the output depends on: some elements, drawn at random, are moved far away,
    and the reference is asked whether it notices. Strides wider than a window leave inputs unread."""
    inputs = setting.reference.make_inputs(setting.seed("share"))
    tensors = [value for value in inputs if isinstance(value, torch.Tensor) and value.numel()]
    total = sum(tensor.nbytes for tensor in tensors)
    if not total:
        return 1.0
    with torch.no_grad():
        want = _first(setting.model(*inputs)).clone()
        mattering = 0.0
        for tensor in tensors:
            noticed = sum(_notices(setting, inputs, tensor, want) for _ in range(_SAMPLES))
            mattering += tensor.nbytes * noticed / _SAMPLES
    return mattering / total


def _notices(setting: Setting, inputs: list[object], tensor: torch.Tensor, want: torch.Tensor) -> bool:
    index = tuple(random.SystemRandom().randrange(size) for size in tensor.shape)
    before = tensor[index].clone()
    far = _FAR if tensor.dtype.is_floating_point or tensor.dtype.is_complex else 1
    tensor[index] = before + far if tensor.dtype != torch.bool else ~before
    noticed = not torch.equal(_first(setting.model(*inputs)), want)
    tensor[index] = before
    return noticed


def _first(output: object) -> torch.Tensor:
    """The first tensor: an input that matters to none but a later one counts as unread, which only makes the bound
    milder."""
    if isinstance(output, torch.Tensor):
        return output
    if isinstance(output, (tuple, list)):
        return next((value for value in output if isinstance(value, torch.Tensor)), torch.zeros(()))
    return torch.full((), math.nan)
