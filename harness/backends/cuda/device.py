"""The worker's GPU."""

from __future__ import annotations

from collections.abc import Callable

import torch

from harness.backends.base import BufferHandle, Finding
from harness.backends.cuda import runtime

_FLUSH_BYTES = 256 * 2**20
"""Several times the largest L2 in use (50 MB on an H100)."""


class CudaDevice:
    """Implements base.WorkerDevice on the first visible GPU. It has no CUDA context before it is first used."""

    torch_device = "cuda"

    def __init__(self) -> None:
        self._flush: torch.Tensor | None = None

    def warm_up(self) -> None:
        """The context and the first kernel take a second; a worker that only builds sees no GPU and needs none."""
        if torch.cuda.is_available():
            self._flush_l2()
            torch.cuda.synchronize()

    def open_buffer(self, handle: BufferHandle, fd: int | None) -> torch.Tensor:
        assert handle.token is not None
        return runtime.as_bytes(runtime.open_ipc(handle.token), handle.nbytes)

    def close_buffer(self, buffer: torch.Tensor) -> None:
        runtime.close_ipc(buffer.data_ptr())

    def time_call(self, call: Callable[[], object]) -> tuple[object, int | None]:
        """Flush L2, then events on the current stream around the call."""
        self._flush_l2()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        result = call()
        end.record()
        end.synchronize()
        return result, max(1, round(start.elapsed_time(end) * 1e6))

    def store(self, source: torch.Tensor, destination: torch.Tensor) -> None:
        destination.copy_(source)

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def sample_blocks(self, count: int | None, seed: int) -> None:
        if count is not None:
            raise ValueError("a GPU runs whole launches")

    def take_findings(self) -> tuple[tuple[Finding, ...], int]:
        return (), 0

    def _flush_l2(self) -> None:
        if self._flush is None:
            self._flush = torch.empty(_FLUSH_BYTES, dtype=torch.uint8, device=self.torch_device)
        self._flush.zero_()
