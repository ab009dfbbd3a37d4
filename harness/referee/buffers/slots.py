"""The number of calls that a turn can have, which memory limits, and the number that it has, which is drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.model.arms import ReferenceArm
from harness.referee.answers.output_spec import tensor_bytes
from harness.referee.setting import Setting

CALLS = 2
"""The most calls in a turn of a case that isn't timed: enough to meet caches by address and by content."""
SHORT_BYTES = 256 * 2**20
"""Calls that move more take 80 µs at least (3.3 TB/s on an H100) ..."""
SHORT_CALLS = 4
"""... and shorter ones are measured so many times as many at a time: they scatter more, and take no time."""
_SHARED_SHARE = 0.45
"""The share of the device's memory that all shared buffers may take."""
_USABLE_SHARE = 0.9
PROCESS_BYTES = 2**30
"""A CUDA context with its modules, and what the worker's device holds (0.9 GB measured on an H100)."""
_CONVERTED = {"eager-float64", "eager-float16", "eager-bfloat16"}
"""Baselines that convert tensors, as a rule from float32."""
_WORKSPACE_BYTES = 3 * 2**30
"""The memory for what a library lays out anew, and for the pieces of the oracle."""
_KEPT_SHARE = 0.05
"""Outputs up to this share of the device's memory can be kept alive beside the next call's ..."""
_KEPT_SHARE_OF_FREE = 0.2
"""... if they take no more of what the buffers leave ..."""
_CALLS_SIDE_BY_SIDE = 2
"""... which has room for so many calls."""


@dataclass(frozen=True)
class Slots:
    """The number of slots. `is_short`: even with one there is too little memory for all workers to keep what they have
    cached while it is another's turn."""

    count: int
    is_short: bool = False


@dataclass(frozen=True)
class Capacity:
    """Up to `calls` slots, shared with these arms of the reference; without any, the solution is alone."""

    calls: int = CALLS
    references: tuple[ReferenceArm, ...] = ()

    def slots(self, setting: Setting, inputs: Sequence[Any]) -> Slots:
        """Return as many slots as the GPU's memory permits, at least one."""
        if not setting.reference.on_gpu:
            return Slots(self.calls)
        free, total = torch.cuda.mem_get_info()
        size, outputs = tensor_bytes(inputs), setting.spec.nbytes
        may_be_short = bool(self.references) and size + outputs <= SHORT_BYTES
        many = replace(self, calls=SHORT_CALLS * self.calls) if may_be_short else self
        rows = setting.oracle.rows(inputs)
        in_pieces = rows is not None and setting.oracle.rows_of_a_piece(inputs, rows) < rows.count
        return many.affordable(size, outputs, free, total, setting.call_bytes, in_pieces)

    def affordable(
        self, input_bytes: int, output_bytes: int, free: int, total: int, call_bytes: int = 0, in_pieces: bool = True
    ) -> Slots:
        """Return the slots that fit. `call_bytes`: the most that an eager call allocates, outputs among it.

        Every arm holds what a call takes; the solution holds an earlier call's outputs, too. An arm that changes the
        layout holds the inputs as well; one that changes their type holds both. The referee makes the inputs of one
        call at a time, and the oracle works `in_pieces` or does in float64 all that a call does.
        """
        slot = max(1, input_bytes + output_bytes)
        oracle = _WORKSPACE_BYTES if in_pieces else max(_WORKSPACE_BYTES, 2 * (slot + call_bytes))
        call = max(call_bytes, output_bytes + min(_WORKSPACE_BYTES, input_bytes)) + PROCESS_BYTES

        def left_beside(references: Sequence[ReferenceArm]) -> float:
            own = sum(2 * slot for name in references if name in _CONVERTED)
            own += ("channels-last" in references) * input_bytes
            kept = (1 + len(references)) * call + output_bytes + own + input_bytes + oracle
            return min(free, total * _USABLE_SHARE) - kept

        slots = int(min(left_beside(self.references), total * _SHARED_SHARE) // slot)
        is_short = left_beside(self.references[:1]) < slot  # others may be left out
        return Slots(max(1, min(self.calls, slots)), is_short)


def can_keep_outputs(setting: Setting) -> bool:
    """Say whether a call's outputs can be kept alive beside the next call's, in the memory that the buffers leave.

    A small output may lie in a block of gigabytes that torch's allocator would use again otherwise, so that the next
    call takes another."""
    if not setting.reference.on_gpu:
        return True
    free, total = torch.cuda.mem_get_info()
    is_small = setting.spec.nbytes <= min(total * _KEPT_SHARE, free * _KEPT_SHARE_OF_FREE)
    return is_small and _CALLS_SIDE_BY_SIDE * setting.call_bytes <= free


def drawn_lengths(most: int, rng: random.Random) -> Iterator[int]:
    """Yield lengths without end: of four turns two have `most` calls, one has half as many, and one a single call, in
    random order.

    The wall clock over turns of different lengths shows what a call costs, whatever a turn costs besides.
    """
    while True:
        four = [most, most, half(most), 1]
        rng.shuffle(four)
        yield from four


def half(most: int) -> int:
    return (most + 1) // 2


def split(count: int, most: int, rng: random.Random) -> list[int]:
    """Return lengths of those kinds that add up to `count`."""
    lengths = []
    while count:
        possible = sorted({length for length in (most, half(most), 1) if length <= count})
        lengths.append(rng.choice(possible[-2:]))
        count -= lengths[-1]
    return lengths
