"""Triton's driver for a GPU that this process doesn't hold: it answers from a description."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any  # Triton has no types

if TYPE_CHECKING:
    import torch


class DescribedDriver:
    """Triton's driver, as far as its compiler and solutions ask it."""

    def __init__(self, known: Mapping[str, str | int]) -> None:
        """`known` are the GPU's properties by their names in torch."""
        from triton.backends.compiler import GPUTarget

        self._capability = int(known["major"]), int(known["minor"])
        self._target = GPUTarget("cuda", 10 * self._capability[0] + self._capability[1], 32)
        facts = {
            "multiprocessor_count": known.get("multi_processor_count"),
            "max_shared_mem": known.get("shared_memory_per_block_optin"),
            "max_num_regs": known.get("regs_per_multiprocessor"),
            "warpSize": known.get("warp_size"),
        }
        self.utils: Any = SimpleNamespace(get_device_properties=lambda device: facts)

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_device_capability(self, device: object = None) -> tuple[int, int]:
        return self._capability

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        return lambda *_, **__: [math.inf]

    def get_active_torch_device(self) -> torch.device:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda
