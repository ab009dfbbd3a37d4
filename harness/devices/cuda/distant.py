"""A GPU of another machine, for workers that build for it here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.devices.base import SharedBuffer
from harness.devices.cuda.gpus import worker_environment
from harness.errors import MachineError
from harness.model.timing import TimerOverhead
from harness.sandbox.wire.device import SeenGpu


@dataclass
class DistantGpu:
    """Implements base.Host as far as builds need it."""

    seen: SeenGpu
    name: Literal["cuda", "sim"] = "cuda"
    torch_device: str = "cpu"

    def allocate(self, nbytes: int) -> SharedBuffer:
        raise MachineError("the GPU is in another machine")

    def worker_arguments(self) -> list[str]:
        return []

    def worker_environment(self, for_build: bool) -> dict[str, str]:
        return worker_environment("{major}.{minor}".format(**self.seen.properties), for_build)

    def seen_gpu(self) -> SeenGpu:
        return self.seen

    def timer_overhead(self) -> TimerOverhead | None:
        return None

    def require_alive(self) -> None:
        raise MachineError("the GPU is in another machine")

    def free_bytes(self) -> int | None:
        return None
