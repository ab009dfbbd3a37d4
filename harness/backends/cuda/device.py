"""The worker's GPU."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Sequence

import torch

from harness.backends.base import BufferHandle, Finding, KernelRun, Measured
from harness.backends.cuda import runtime
from harness.backends.cuda.markers import BEGIN_BYTES, END_BYTES, FLUSH_BYTES, bounded, with_calls
from harness.backends.cuda.meter import DeviceFault, Meter, clock_ns
from harness.backends.cuda.snapshot import Snapshots
from harness.backends.cuda.tracer import Tracer, open_cupti

_POISON = 0xFF
"""NaN in every floating dtype, −1 in integers."""
_SLOW_POISON_NS = 500_000
_MOST_SLOW_POISONS = 4
"""A solution that empties the allocator's cache in each call is not to pay for memory that only the poison needs."""
_TRACE_CHARS = 4 * 2**20
"""Half of what a message may have (protocol.frames)."""

Pairs = Sequence[tuple[torch.Tensor, torch.Tensor]]

# Of torch's allocator itself, taken before any code of a solution runs.
_take_block = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_alloc", None)
_give_block = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_delete", None)


def activate() -> CudaDevice:
    """Imports what asks for a device when it is imported, without an answer: torch refuses CUDA to the children of a
    process that has counted its devices, as torch.utils.cpp_extension does to say where no GPU is."""
    is_available = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    try:
        importlib.import_module("torch.utils.cpp_extension")
    finally:
        torch.cuda.is_available = is_available
    return CudaDevice()


class CudaDevice:
    """Implements base.WorkerDevice on the first visible GPU. It has no CUDA context before it is first used."""

    torch_device = "cuda"

    def __init__(self) -> None:
        self._meter: Meter | None = None
        self._tracer: Tracer | None = None
        self._is_tracing = False
        self._output_bytes: tuple[int, ...] = ()
        self._poisons = _take_block is not None and _give_block is not None
        self._slow_poisons = 0

    def warm_up(self) -> None:
        """The context and the first kernel take a second; a worker that only builds sees no GPU and needs none."""
        if torch.cuda.is_available():
            self._ready().await_idle()

    def open_buffer(self, handle: BufferHandle, fd: int | None) -> torch.Tensor:
        assert handle.token is not None
        return runtime.as_bytes(runtime.open_ipc(handle.token), handle.nbytes)

    def close_buffer(self, buffer: torch.Tensor) -> None:
        runtime.close_ipc(buffer.data_ptr())

    def measure(self, call: Callable[[], object], fitting: Callable[[object], Pairs]) -> Measured:
        """Events on torch's current stream around the call, on a cold cache; at once behind them, on the same stream,
        the copies of what it returned; then the time until the whole context is idle.

        Raises: DeviceFault, and what the call raises.
        """
        meter = self._ready()
        stream = meter.stream()
        self._poison(meter, stream)
        meter.fill(self._flushed, 0, FLUSH_BYTES, stream)
        meter.fill(self._flushed, 0, BEGIN_BYTES, stream)
        runtime.take_last_error()  # of an earlier time
        meter.record_start(stream)
        result = call()
        meter.record_end(stream)
        meter.fill(self._flushed, 0, END_BYTES, stream)
        pairs = fitting(result)
        self._output_bytes = tuple(self._snapshots.store(source, destination, stream) for source, destination in pairs)
        meter.await_stored(stream)
        unasked = runtime.take_last_error()
        tail_ns = meter.await_idle()
        return Measured(result, meter.elapsed_ns(), tail_ns, unasked)

    def start_trace(self) -> None:
        self._ready()
        self._is_tracing = self._tracer is not None and self._tracer.start()

    def take_trace(self) -> tuple[KernelRun, ...] | None:
        if not self._is_tracing or self._tracer is None:
            return None
        self._is_tracing = False
        self.synchronize()
        return with_calls(bounded(self._tracer.take(), _TRACE_CHARS))

    def synchronize(self) -> None:
        if self._meter is not None:
            self._meter.await_idle()

    def sample_blocks(self, count: int | None, seed: int) -> None:
        if count is not None:
            raise ValueError("a GPU runs whole launches")

    def take_findings(self) -> tuple[tuple[Finding, ...], int]:
        return (), 0

    def _poison(self, meter: Meter, stream: int) -> None:
        """Fill what the allocator would hand out next for outputs of the last call's sizes: what a solution doesn't
        write then shows, and doesn't hold an earlier answer. Not once memory has become short: the allocator would
        then give back what the solution has cached."""
        if not self._poisons or not self._output_bytes:
            return
        assert _take_block is not None
        assert _give_block is not None
        taken: list[int] = []
        started = clock_ns()
        try:
            for nbytes in self._output_bytes:
                if nbytes:
                    taken.append(_take_block(nbytes, stream))
                    meter.fill(taken[-1], _POISON, nbytes, stream)
        except torch.OutOfMemoryError:
            self._poisons = False
        finally:
            for address in taken:
                _give_block(address)
        self._slow_poisons += clock_ns() - started > _SLOW_POISON_NS
        self._poisons = self._poisons and self._slow_poisons < _MOST_SLOW_POISONS

    def _ready(self) -> Meter:
        """With torch's context, and everything looked up that measuring takes."""
        if self._meter is None:
            torch.cuda.init()  # type: ignore[no-untyped-call]
            self._flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=self.torch_device)
            self._flushed = self._flush.data_ptr()
            self._meter = Meter()
            self._snapshots = Snapshots(self._meter)
            if library := open_cupti():
                self._tracer = Tracer(library)
            with contextlib.suppress(DeviceFault):
                self._meter.fill(self._flushed, 0, FLUSH_BYTES, 0)
        return self._meter
