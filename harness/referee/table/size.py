"""How many calls one table has places for: buffers of their own for each, beside all that needs memory too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.model.arms import ReferenceArm
from harness.referee.setting import Setting

CALLS = 2
"""At most, in a turn of a case that isn't timed: enough to meet caches by address and by content."""
SHORT_BYTES = 256 * 2**20
"""Calls that move more take 80 µs at least (3.3 TB/s on an H100) ..."""
SHORT_CALLS = 4
"""... and shorter ones are measured so many times as many at a time: they scatter more, and take no time."""
_SHARED_SHARE = 0.45
"""Of the device's memory, for all shared buffers."""
_USABLE_SHARE = 0.9
PROCESS_BYTES = 2**30
"""A CUDA context with its modules, and what the worker's device holds (0.9 GB measured on an H100)."""
_CONVERTED = {"eager-float64", "eager-float16", "eager-bfloat16"}
"""As a rule of tensors in float32."""
_WORKSPACE_BYTES = 3 * 2**30
"""For what a library lays out anew, and for the pieces of the oracle."""


@dataclass(frozen=True)
class Seating:
    """How many places there are. `is_short`: even with one there is too little memory for all to keep what they have
    cached while it is another's turn."""

    places: int
    is_short: bool = False


@dataclass(frozen=True)
class TableSize:
    """Up to `calls` places, in the company of these arms; without any, the solution sits alone."""

    calls: int = CALLS
    references: tuple[ReferenceArm, ...] = ()

    def seating(self, setting: Setting, inputs: Sequence[Any]) -> Seating:
        """As many places as the GPU's memory permits, one at least."""
        if not setting.reference.on_gpu:
            return Seating(self.calls)
        free, total = torch.cuda.mem_get_info()
        size, outputs = tensor_bytes(inputs), setting.spec.nbytes
        may_be_short = bool(self.references) and size + outputs <= SHORT_BYTES
        many = replace(self, calls=SHORT_CALLS * self.calls) if may_be_short else self
        return many.affordable(size, outputs, free, total, setting.call_bytes)

    def affordable(self, input_bytes: int, output_bytes: int, free: int, total: int, call_bytes: int = 0) -> Seating:
        """`call_bytes`: what an eager call allocates at most, outputs among it."""
        case = _Case(input_bytes, output_bytes, call_bytes)
        left = min(free, total * _USABLE_SHARE)
        places = int(min(left - case.kept(self.references), total * _SHARED_SHARE) // case.place)
        is_short = left - case.kept(self.references[:1]) < case.place  # others may be left out
        return Seating(max(1, min(self.calls, places)), is_short)


@dataclass(frozen=True)
class _Case:
    input_bytes: int
    output_bytes: int
    call_bytes: int

    @property
    def place(self) -> int:
        return max(1, self.input_bytes + self.output_bytes)

    def kept(self, references: Sequence[ReferenceArm]) -> int:
        """Every arm holds what a call takes; the solution an earlier call's outputs, too, and an arm that changes the
        layout the inputs, or their type both. The referee makes the inputs of one call at a time, and the oracle works
        in pieces."""
        call = max(self.call_bytes, self.output_bytes + min(_WORKSPACE_BYTES, self.input_bytes))
        arms = (1 + len(references)) * (call + PROCESS_BYTES) + self.output_bytes
        arms += ("channels-last" in references) * self.input_bytes
        arms += sum(2 * self.place for name in references if name in _CONVERTED)
        return arms + self.input_bytes + _WORKSPACE_BYTES


def tensor_bytes(values: Sequence[Any]) -> int:
    return sum(value.numel() * value.itemsize for value in values if isinstance(value, torch.Tensor))
