"""Speeds beyond what the device can do: inputs and outputs that must move.

Operations never accuse (records.roofline.above_light): diag(A) @ B needs a row's worth of those that torch counts, and
algebra like that is honest.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness.model.ceilings import Ceilings
from harness.model.evaluation import Work
from harness.referee.ceilings.work import nbytes_of
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed

_SLACK = 0.95
"""Of a measured rate: the best of about twenty reads, writes or copies isn't the very best. Theory needs none."""
_SURVIVING = 0.25
"""Of the cache, at most, what a call finds there of its inputs: it is cleared before each call by reading much more
than it holds, which needn't drive out every line."""
_SAMPLES = 32
_DEVIATIONS = 2.0
_FAR = 1e4


@dataclass(frozen=True)
class Moved:
    """Bytes of one call: all of `work`, and all outputs. `inputs_that_matter`: how many of the inputs' the output
    depends on; asked only where it decides. Parameters accuse nobody: of an embedding's table a call reads few rows."""

    work: Work
    output_bytes: int
    inputs_that_matter: Callable[[], float]


def require_possible(median_ns: float, baseline_ns: float | None, moved: Moved, ceilings: Ceilings) -> tuple[str, ...]:
    """Remarks where the arithmetic is surprising but has an honest explanation. Medians of the solution and the
    baseline, None where that wasn't timed.

    Raises: SolutionFailed.
    """
    if median_ns >= _ns(moved.work.least_bytes, ceilings):
        return ()
    return (_judge_bytes(median_ns, baseline_ns, moved, ceilings),)


def _ns(nbytes: float, ceilings: Ceilings) -> float:
    return nbytes / ceilings.memory.rate * 1e9


def _floor_ns(nbytes: float, ceilings: Ceilings) -> float:
    """Below it lies only what is impossible."""
    return _ns(nbytes, ceilings) * (1 if ceilings.memory.source == "theory" else _SLACK)


def _judge_bytes(median_ns: float, baseline_ns: float | None, moved: Moved, ceilings: Ceilings) -> str:
    """What was written may still lie in the cache when the clock stops: so much needn't have reached memory."""
    nbytes, rate = moved.work.least_bytes, ceilings.memory.rate
    cached = min(ceilings.cache_bytes, moved.output_bytes + _SURVIVING * ceilings.cache_bytes)
    arithmetic = (
        f"{median_ns / 1e3:.1f} µs for {nbytes / 1e6:.1f} MB are {nbytes / median_ns / 1e3:.2f} TB/s; the device's "
        f"memory moves {rate / 1e12:.2f} TB/s"
    )
    if median_ns >= _floor_ns(nbytes, ceilings):
        return f"{arithmetic}, as measured, and perhaps a little more"
    if nbytes <= cached:
        return f"{arithmetic}; its cache of {ceilings.cache_bytes / 1e6:.0f} MB may hold them all"
    if median_ns >= _floor_ns(nbytes - cached, ceilings):
        return f"{arithmetic}; its cache may hold {cached / 1e6:.0f} MB of them"
    if baseline_ns is not None and baseline_ns < _floor_ns(nbytes - cached, ceilings):
        return f"{arithmetic}; but the baseline, with {baseline_ns / 1e3:.1f} µs, doesn't need to move them all either"
    certain = moved.inputs_that_matter() + moved.output_bytes
    if median_ns >= _floor_ns(certain - cached, ceilings):
        return f"{arithmetic}; but only about {certain / 1e6:.1f} MB of inputs and outputs must move"
    raise SolutionFailed.cheating(
        "roofline",
        arithmetic,
        median_ns=median_ns,
        least_bytes=nbytes,
        certain_bytes=certain,
        memory_bytes_per_s=rate,
        cache_bytes=cached,
        floor_ns=_floor_ns(certain - cached, ceilings),
    )


def inputs_that_matter(setting: Setting) -> float:
    """About how many of the inputs' bytes the output depends on, rather too few than too many: some elements, drawn at
    random, are moved far away, and the reference is asked whether it notices. Strides wider than a window leave inputs
    unread. 0 where the reference differs from itself (NaN, sums in any order): then it tells nothing."""
    inputs = setting.reference.make_inputs(setting.seed("share"))
    tensors = [value for value in inputs if isinstance(value, torch.Tensor) and value.numel()]
    with torch.no_grad():
        want = _first(setting.model(*inputs)).clone()
        if not torch.equal(_first(setting.model(*inputs)), want):
            return 0.0
        mattering = sum(tensor.nbytes * _share(setting, inputs, tensor, want) for tensor in tensors)
    return min(mattering, float(nbytes_of(tensors)))


def _share(setting: Setting, inputs: list[object], tensor: torch.Tensor, want: torch.Tensor) -> float:
    """1 for what isn't floating: an index moved out of its range would be a fault of the device's, which nothing in
    this process survives."""
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
        return 1.0
    share = sum(_notices(setting, inputs, tensor, want) for _ in range(_SAMPLES)) / _SAMPLES
    return float(max(0.0, share - _DEVIATIONS * (share * (1 - share) / _SAMPLES) ** 0.5))


def _notices(setting: Setting, inputs: list[object], tensor: torch.Tensor, want: torch.Tensor) -> bool:
    index = tuple(random.SystemRandom().randrange(size) for size in tensor.shape)
    before = tensor[index].clone()
    tensor[index] = before + _FAR
    noticed = not torch.equal(_first(setting.model(*inputs)), want)
    tensor[index] = before
    return noticed


def _first(output: object) -> torch.Tensor:
    """The first tensor: an input that matters to none but a later one counts as unread, which only makes the bound
    milder."""
    tensors = output if isinstance(output, (tuple, list)) else (output,)
    return next((value for value in tensors if isinstance(value, torch.Tensor)), torch.zeros(()))
