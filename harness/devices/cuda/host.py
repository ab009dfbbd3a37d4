"""The referee's GPU: the memory it shares, and how its workers start."""

from __future__ import annotations

import contextlib
from typing import Literal

import torch

from harness.devices.base import SharedBuffer
from harness.devices.cuda import health, runtime
from harness.devices.cuda.driver import worker_environment
from harness.devices.cuda.floors import measure_floors
from harness.devices.cuda.gpus import equal_gpus
from harness.model.timing import Floors
from harness.sandbox.wire.device import BufferHandle, SeenGpu


class CudaHost:
    """Implements base.Host on the first visible GPU."""

    name: Literal["cuda", "sim"] = "cuda"
    torch_device = "cuda"

    def __init__(self) -> None:
        self._floors: Floors | None = None

    def allocate(self, nbytes: int) -> SharedBuffer:
        address = runtime.allocate(nbytes)
        return SharedBuffer(
            content=runtime.as_bytes(address, nbytes),
            handle=BufferHandle("cuda_ipc", nbytes, token=runtime.ipc_token(address)),
            descriptor=None,
            release=lambda: runtime.free(address),
        )

    def worker_arguments(self) -> list[str]:
        return []

    def worker_environment(self, for_build: bool) -> dict[str, str]:
        """Of several GPUs a worker sees the one that it is measured on."""
        environment = worker_environment("{}.{}".format(*torch.cuda.get_device_capability()), for_build)
        if for_build or torch.cuda.device_count() == 1:
            return environment
        return {**environment, **equal_gpus()[0].variables}

    def seen_gpu(self) -> SeenGpu | None:
        properties = torch.cuda.get_device_properties(0)
        named = {name: getattr(properties, name) for name in dir(properties) if not name.startswith("_")}
        texts = {name: value for name, value in named.items() if isinstance(value, str)}
        return SeenGpu({**texts, **{name: int(value) for name, value in named.items() if isinstance(value, int)}})

    def floors(self) -> Floors | None:
        """None where memory is too short to ask."""
        if self._floors is None:
            with contextlib.suppress(torch.OutOfMemoryError):
                self._floors = measure_floors()
            torch.cuda.empty_cache()
        return self._floors

    def require_alive(self) -> None:
        health.require_alive()

    def free_bytes(self) -> int | None:
        try:
            return int(torch.cuda.mem_get_info()[0])
        except RuntimeError:  # require_alive() says what is wrong
            return None
