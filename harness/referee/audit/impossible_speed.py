"""Audit of speeds beyond what the device can do: inputs and outputs must move through its memory.

Operations never accuse (model.roofline): diag(A) @ B needs far fewer than torch counts, and such algebra is honest.
"""

from __future__ import annotations

import random
import statistics

import torch

from harness.model.ceilings import Ceilings
from harness.referee.audit.observed import Observed
from harness.referee.ceilings.work import nbytes_of
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed

_SLACK = 0.95
"""The share of a measured rate that is tolerated: the best of about twenty copies isn't the very best. A theoretical
rate needs none."""
_SURVIVING = 0.25
"""The share of the cache that may still hold inputs: before each call it is cleared by reading much more than it holds,
which needn't drive out every line."""
_SAMPLES = 32
_DEVIATIONS = 2.0
_FAR = 1e4


def require_possible(seen: Observed) -> tuple[str, ...]:
    """The solution moves no more bytes a second than the device's memory can. A surprising speed that has an honest
    explanation is a remark.

    Parameters accuse nobody: of an embedding's table a call reads few rows. Raises: SolutionFailed.
    """
    work, ceilings, median_ns = seen.facts.work, seen.facts.ceilings, seen.median_ns
    if work is None or ceilings is None or median_ns is None or not seen.solution.claimed_ns:
        return ()
    if median_ns >= _ns(work.least_bytes, ceilings):
        return ()
    return (_judge_bytes(median_ns, work.least_bytes, ceilings, seen),)


def _ns(nbytes: float, ceilings: Ceilings) -> float:
    return nbytes / ceilings.memory.rate * 1e9


def _floor_ns(nbytes: float, ceilings: Ceilings) -> float:
    """A shorter time is impossible."""
    return _ns(nbytes, ceilings) * (1 if ceilings.memory.source == "theory" else _SLACK)


def _judge_bytes(median_ns: float, nbytes: int, ceilings: Ceilings, seen: Observed) -> str:
    """The remark on a surprising speed. Outputs may still lie in the cache when the clock stops, so that they needn't
    have reached memory. Raises: SolutionFailed where nothing explains the speed."""
    rate, of_baseline = ceilings.memory.rate, seen.baseline.claimed_call_ns
    output_bytes = sum(output.nbytes for output in seen.facts.outputs)
    baseline_ns = statistics.median(of_baseline) if of_baseline else None
    cached = min(ceilings.cache_bytes, output_bytes + _SURVIVING * ceilings.cache_bytes)
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
    certain = seen.facts.inputs_that_matter() + output_bytes
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
    """Estimate how many of the inputs' bytes the output depends on, rather too few than too many: strides wider than a
    window leave inputs unread.

    Random elements are moved far away, and the reference shows whether that changes its output. 0 where the reference
    differs from itself (NaN, sums in any order): then nothing can be concluded.
    """
    inputs = setting.reference.make_inputs(setting.seed("share"))
    tensors = [value for value in inputs if isinstance(value, torch.Tensor) and value.numel()]
    with torch.no_grad():
        want = _first(setting.model(*inputs)).clone()
        if not torch.equal(_first(setting.model(*inputs)), want):
            return 0.0
        mattering = sum(tensor.nbytes * _share(setting, inputs, tensor, want) for tensor in tensors)
    return min(mattering, float(nbytes_of(tensors)))


def _share(setting: Setting, inputs: list[object], tensor: torch.Tensor, want: torch.Tensor) -> float:
    """The share of a tensor's elements that matter, rather too small. 1 for what isn't floating: an index out of its
    range would be a device fault, which this process wouldn't survive."""
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
    """The first output tensor: an input that matters only to others counts as unread, which makes the bound milder."""
    tensors = output if isinstance(output, (tuple, list)) else (output,)
    return next((value for value in tensors if isinstance(value, torch.Tensor)), torch.zeros(()))
