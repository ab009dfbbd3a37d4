"""The worker's GPU."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch

from harness.devices.base import Measured, WorkerDevice
from harness.devices.cuda import runtime
from harness.devices.cuda.absent_gpu import AbsentGpu
from harness.devices.cuda.captures import Captures
from harness.devices.cuda.lead_in import Extent, LeadIn
from harness.devices.cuda.meter import DeviceFault, Meter, clock_ns
from harness.devices.cuda.output_copy import Snapshots, extent, holds_numbers
from harness.devices.cuda.tracer import Tracer, bounded, open_cupti
from harness.sandbox.wire.device import MADE_TWICE, BufferHandle, Conditions, KernelRun, SeenGpu

_POISON = 0xFF
"""NaN in every floating dtype, −1 in integers."""
_SLOW_POISON_NS = 500_000
_MOST_SLOW_POISONS = 4
"""A solution that empties the allocator's cache in each call shouldn't pay for memory that only the poison needs."""
_TRACE_CHARS = 4 * 2**20
"""The most characters of a trace: half of what a message may have (sandbox.wire.frames)."""

_MOST_PLACES = 16
_PLACES_BYTES = 2**30
"""Equal work takes a few tenths of a microsecond more or less by where its buffers lie, the same each time (H100:
20.5 to 21.5 µs for x * 2 over 33 MB, by 72 pairs of buffers in six processes). With as many places as this, outputs of
two workers differ by little on average."""

Pairs = Sequence[tuple[torch.Tensor, torch.Tensor]]

# Of torch's allocator itself, taken before any code of a solution runs.
_take_block = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_alloc", None)
_give_block = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_delete", None)
_empty_cache = getattr(torch._C, "_cuda_emptyCache", None)
_memory_stats = getattr(torch._C, "_cuda_memoryStats", None)
_reset_peak = getattr(torch._C, "_cuda_resetPeakMemoryStats", None)


def activate() -> CudaDevice:
    """Import what looks for a device when it is imported, without an answer: torch refuses CUDA to the children of a
    process that has counted its devices, as torch.utils.cpp_extension does to report a machine without one."""
    is_available = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    try:
        importlib.import_module("torch.utils.cpp_extension")
    finally:
        torch.cuda.is_available = is_available
    return CudaDevice()


class CudaDevice(WorkerDevice):
    """The first visible GPU. It has no CUDA context before it is first used."""

    def __init__(self) -> None:
        self._absent: AbsentGpu | None = None
        self._meter: Meter | None = None
        self._tracer: Tracer | None = None
        self._is_tracing = False
        self._output_bytes: tuple[int, ...] = ()
        self._can_poison = _take_block is not None and _give_block is not None
        self._slow_poisons = 0
        self._calls = 0
        self._aside: list[int] = []
        self._laid_out: tuple[int, ...] = ()
        self._metric: str = Conditions().metric
        self._captures = Captures()
        self._hold_ns = 0
        self._stream = 0
        self._late_inputs = False
        self._peak_bytes: int | None = None

    def warm_up(self) -> None:
        """Create the context and run a first kernel, which takes a second; a worker that only builds needs no GPU."""
        if torch.cuda.is_available():
            self._ready().await_idle()

    def ready_libraries(self) -> None:
        """Take 3 ms for cuBLAS and 120 for cuDNN (H200)."""
        create_handle: Callable[[], object] = torch.cuda.current_blas_handle
        create_handle()
        one = torch.ones(1, 1, 1, 1, device="cuda")
        torch.nn.functional.conv2d(one, one)

    def show(self, gpu: SeenGpu, is_rehearsed: bool) -> None:
        self._absent = AbsentGpu(gpu, is_rehearsed)
        self.torch_device = "cpu"

    def rehearse(self, model: torch.nn.Module, inputs: Sequence[Any], call: Callable[..., object]) -> None:
        assert self._absent is not None, "show() comes first"
        self._absent.rehearse(model, inputs, call)

    def open_buffer(self, handle: BufferHandle, fd: int | None) -> torch.Tensor:
        assert handle.token is not None
        return runtime.as_bytes(runtime.open_ipc(handle.token), handle.nbytes)

    def close_buffer(self, buffer: torch.Tensor) -> None:
        runtime.close_ipc(buffer.data_ptr())

    def begin(self, conditions: Conditions) -> None:
        if conditions.metric != self._metric and "graph" in (conditions.metric, self._metric):
            self._captures.start_over()
        self._metric, self._hold_ns = conditions.metric, conditions.hold_ns
        self._late_inputs = conditions.late_inputs
        self._peak_bytes = None

    def end_forward(self) -> None:
        if self._meter is not None and self._metric == "forward":
            self._meter.record_end(self._stream)
        elif self._meter is not None and self._metric == "backward":
            self._meter.record_start(self._stream)

    def peak_bytes(self) -> int | None:
        return self._peak_bytes

    def allocated_bytes(self) -> int | None:
        return _allocated("current")

    def measure(
        self, call: Callable[[], object], fitting: Callable[[object], Pairs], inputs: Sequence[torch.Tensor] = ()
    ) -> Measured:
        """Clock the call on torch's current stream; at once behind, on the same stream, copy what it returned; then
        take the time until the whole context is idle.

        Raises: DeviceFault, and what the call raises.
        """
        meter = self._ready()
        stream = self._stream = meter.stream()
        late = [extent(value) for value in inputs if self._late_inputs and self._may_be_late(value)]
        if self._metric == "gpu_warm":
            late = self._lead_in.pieces(late)
        self._lead_in.exchange_halves(late, stream)
        self._give_back(self._aside)  # of a call that raised
        if self._metric == "graph":
            call = self._captures.capture(call)
        else:  # a graph's outputs don't come from where the poison is
            self._poison(meter, stream)
        meter.forget_persisting()
        held_bytes = _most_allocated_anew()
        if self._metric == "end_to_end":
            clocked = self._clock_from_call_to_idle(meter, call, stream, late)
        else:
            clocked = self._clock_on_stream(meter, call, stream, late)
        pairs = fitting(clocked.result)
        self._output_bytes = tuple(self._snapshots.store(source, destination, stream) for source, destination in pairs)
        meter.await_stored(stream)
        unasked = runtime.take_last_error()
        tail_ns = meter.await_idle()
        self._note_peak(held_bytes)
        self._give_back(self._aside)
        gpu_ns = clocked.gpu_ns or meter.elapsed_ns()
        return replace(clocked, gpu_ns=gpu_ns, tail_ns=tail_ns, unasked=unasked)

    def _may_be_late(self, value: torch.Tensor) -> bool:
        """Tell whether it may: a call that is first made with others in their place could run out of bounds by indices
        in disorder."""
        return self._metric not in MADE_TWICE or holds_numbers(value)

    def _note_peak(self, held_bytes: int | None) -> None:
        most = _allocated("peak")
        if held_bytes is not None and most is not None:
            self._peak_bytes = max(self._peak_bytes or 0, most - held_bytes)

    def _clock_on_stream(
        self, meter: Meter, call: Callable[[], object], stream: int, late: Sequence[Extent]
    ) -> Measured:
        """Clock between two events. The device is held meanwhile, so that it waits for no launch in between. If the
        hold was long enough, the first event hasn't passed when the call returns. `late` is memory that
        holds its values again on the stream, once the device is free."""
        if self._metric == "graph":  # a sample without any of it in the cache
            self._lead_in.exchange_halves(late, stream)
        if self._metric == "gpu_warm":
            call()
            is_held = self._lead_in.hold(self._hold_ns, stream)
        elif not self._hold_ns:
            is_held = self._lead_in.clear_idle(stream)
        else:
            is_held = self._lead_in.clear_cache(self._hold_ns, stream)
        if self._metric != "graph":
            self._lead_in.exchange_halves(late, stream)
        runtime.take_last_error()  # of an earlier time
        meter.record_start(stream)
        started = clock_ns()
        result = call()
        launch_ns = clock_ns() - started
        if self._metric != "forward":  # its end came before
            meter.record_end(stream)
        queued = is_held and not meter.has_started()  # the end as well as all before it
        self._lead_in.mark_end(stream)
        return Measured(result, None, None, launch_ns=launch_ns, queued=queued)

    def _clock_from_call_to_idle(
        self, meter: Meter, call: Callable[[], object], stream: int, late: Sequence[Extent]
    ) -> Measured:
        """Clock by the host's clock, beginning on an idle device."""
        self._lead_in.exchange_halves(late, stream)
        self._lead_in.clear_cache(0, stream)
        meter.await_idle()
        runtime.take_last_error()
        started = clock_ns()
        result = call()
        launch_ns = clock_ns() - started
        meter.await_idle()
        end_to_end_ns = clock_ns() - started
        self._lead_in.mark_end(stream)
        return Measured(result, end_to_end_ns, None, launch_ns=launch_ns)

    def start_trace(self) -> None:
        self._ready()
        self._is_tracing = self._tracer is not None and self._tracer.start()

    def take_trace(self) -> tuple[KernelRun, ...] | None:
        if not self._is_tracing or self._tracer is None:
            return None
        self._is_tracing = False
        self.synchronize()
        return bounded(self._tracer.take(), _TRACE_CHARS)

    def can_trace(self) -> bool:
        meter = self._ready()
        self.start_trace()
        self._lead_in.mark_end(meter.stream())
        return bool(self.take_trace())

    def synchronize(self) -> None:
        if self._meter is not None:
            self._meter.await_idle()

    def limit_launches(self, count: int | None = None, seed: int = 0, seconds: float | None = None) -> None:
        if count is not None:
            raise ValueError("a GPU runs whole launches")

    def give_back(self) -> None:
        self.synchronize()
        if _empty_cache is not None:
            _empty_cache()

    def _poison(self, meter: Meter, stream: int) -> None:
        """Fill what the allocator would hand out next for outputs of the last call's sizes: what a solution doesn't
        write then shows, and doesn't hold an earlier answer. It is another place each time; blocks elsewhere of these
        sizes are put aside until the call is over.

        This ends once memory has become short: the allocator would then give back what the solution has cached.
        Nobody is told of that: an earlier answer is one to other inputs, so the values show it all the same."""
        if not self._can_poison or self._slow_poisons >= _MOST_SLOW_POISONS or not any(self._output_bytes):
            return
        assert _take_block is not None
        self._calls += 1
        places = min(max(1, _PLACES_BYTES // sum(self._output_bytes)), _MOST_PLACES) if self._slow_poisons < 2 else 1
        next_ones: list[int] = []
        asked, started = _times_asked(), clock_ns()
        try:
            for nbytes in filter(None, self._output_bytes):
                blocks = len(self._aside)
                for _ in range(places):
                    self._aside.append(_take_block(nbytes, stream))
                next_ones.append(self._aside[blocks + self._calls % places])
                meter.fill(next_ones[-1], _POISON, nbytes, stream)
        except torch.OutOfMemoryError:
            self._slow_poisons = _MOST_SLOW_POISONS
            next_ones = self._aside
        finally:
            self._give_back(next_ones)
        is_new, self._laid_out = self._laid_out != self._output_bytes, self._output_bytes
        is_slow = clock_ns() - started > _SLOW_POISON_NS and (asked is None or _times_asked() != asked)
        self._slow_poisons += not is_new and is_slow

    def _give_back(self, blocks: Sequence[int]) -> None:
        """Free blocks that were put aside."""
        for address in tuple(blocks):
            assert _give_block is not None
            self._aside.remove(address)
            _give_block(address)

    def _ready(self) -> Meter:
        """Create torch's context, and look up everything that measuring takes."""
        if self._meter is None:
            torch.cuda.init()  # type: ignore[no-untyped-call]
            self._meter = Meter()
            self._lead_in = LeadIn(self._meter)
            self._snapshots = Snapshots(self._meter)
            if library := open_cupti():
                self._tracer = Tracer(library)
            with contextlib.suppress(DeviceFault):
                self._lead_in.clear_cache(0, 0)
        return self._meter


def _times_asked() -> int | None:
    """Return how often torch's allocator has asked the driver for memory so far; None if it doesn't tell."""
    return None if _memory_stats is None else int(_memory_stats(0)["num_device_alloc"])


def _allocated(which: Literal["current", "peak"]) -> int | None:
    """Return the bytes that torch's allocator has given out now, or the most at once since the last reset; None if it
    doesn't tell."""
    return None if _memory_stats is None else int(_memory_stats(0)["allocated_bytes"]["all"][which])


def _most_allocated_anew() -> int | None:
    """Reset the peak to what is given out now, and return that."""
    if _reset_peak is not None:
        _reset_peak(0)
    return _allocated("peak")
