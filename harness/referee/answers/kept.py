"""Results of slow runs of the reference, for later solutions that get the same inputs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import torch

from harness.sandbox.memory import available_bytes

_SLOW_S = 0.1
"""The seconds from which on a run is kept: a reference of Python loops takes one for each answer."""
_SHARE = 1 / 32
"""The share of the host's available memory that kept answers of one case may take."""
_Made = TypeVar("_Made")


class SeededInputs(list[Any]):
    """All inputs of a call, with the seed that they are drawn with; some of their rows, or copies, are mere lists."""

    def __init__(self, inputs: Sequence[Any], seed: int) -> None:
        super().__init__(inputs)
        self.seed = seed


class KeptRuns:
    """Results by what they are results of: the seed of the inputs, and the way of computing."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[Any, torch.device | None]] = {}
        self._nbytes = 0

    def take(self, inputs: Sequence[Any], way: str, make: Callable[[], _Made]) -> _Made:
        """The kept result, or what `make` gives, which is kept where it took long: a tuple of tensors on the host, and
        given back on the device of the first where there is room. Of inputs without a seed nothing is known."""
        seed = inputs.seed if isinstance(inputs, SeededInputs) else None
        key = seed, way
        if seed is not None and key in self._kept:
            kept, device = self._kept[key]
            if device is not None:
                with contextlib.suppress(torch.OutOfMemoryError):
                    kept = tuple(one.to(device) for one in kept)
            return kept  # type: ignore[no-any-return]
        started, before = time.monotonic(), times_out_of_memory()
        made = make()
        tensors = made if isinstance(made, tuple) and made and isinstance(made[0], torch.Tensor) else ()
        device = tensors[0].device if tensors else None
        if device and device.type == "cuda":
            torch.cuda.synchronize()
        nbytes = sum(one.nbytes for one in tensors)
        is_slow = time.monotonic() - started > _SLOW_S
        is_whole = made is not None and times_out_of_memory() == before  # a solution may have made memory short
        if seed is not None and is_whole and is_slow and self._nbytes + nbytes <= available_bytes() * _SHARE:
            self._nbytes += nbytes
            self._kept[key] = tuple(one.to("cpu", copy=True) for one in tensors) or made, device
        return made


def times_out_of_memory() -> int:
    """Count the errors that torch's allocator has raised on the GPU; 0 without one."""
    return int(torch.cuda.memory_stats().get("num_ooms", 0)) if torch.cuda.is_initialized() else 0  # type: ignore[no-untyped-call]
