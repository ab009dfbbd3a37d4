"""The referee's GPU: the memory that it shares, how its workers start, whether it is well, what its clock shows."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable
from typing import Literal

import torch

from harness.devices.base import Host, SharedBuffer
from harness.devices.cuda import hip, runtime
from harness.devices.cuda.gpus import equal_gpus, worker_environment
from harness.devices.cuda.lead_in import LeadIn
from harness.devices.cuda.meter import Meter, clock_ns
from harness.errors import MachineError
from harness.model.timing import TimerOverhead
from harness.sandbox.wire.device import HOLD_NS, BufferHandle, SeenGpu

_PROBE_ELEMENTS = 2**20
_PROBE_TIMEOUT_S = 30.0
"""A kernel of another process that was ended may run on until the driver resets its channel, which takes seconds."""
_PROBE_POLL_S = 0.001
_REMEDY = "look at 'nvidia-smi' and the kernel's log (dmesg, Xid), reset the GPU ('nvidia-smi --gpu-reset') or reboot"

_UNSPLIT_MB = 1024
"""Larger blocks that torch keeps aren't split: else small outputs that live on in one let no input of its size in."""
_ASKED_FOR_BY_USERS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_OVERHEAD_SAMPLES = 50


class CudaHost(Host):
    """The first visible GPU."""

    name: Literal["cuda", "sim"] = "cuda"
    torch_device = "cuda"

    def __init__(self) -> None:
        self._timer_overhead: TimerOverhead | None = None
        if not any(map(os.environ.get, _ASKED_FOR_BY_USERS)):  # one call resets all that they may set
            _set_allocator(f"max_split_size_mb:{_UNSPLIT_MB}")

    def allocate(self, nbytes: int) -> SharedBuffer:
        address = runtime.allocate(nbytes)
        return SharedBuffer(
            content=runtime.as_bytes(address, nbytes),
            handle=BufferHandle("cuda_ipc", nbytes, token=runtime.ipc_token(address)),
            descriptor=None,
            release=lambda: runtime.free(address),
        )

    def worker_environment(self, for_build: bool) -> dict[str, str]:
        """Return a worker's variables; of several GPUs it sees the one that it is measured on."""
        if hip.IS_HIP:
            environment = hip.worker_environment(for_build)
        else:
            environment = worker_environment("{}.{}".format(*torch.cuda.get_device_capability()), for_build)
        if for_build or torch.cuda.device_count() == 1:
            return environment
        return {**environment, **equal_gpus()[0].variables}

    def seen_gpu(self) -> SeenGpu | None:
        properties = torch.cuda.get_device_properties(0)
        named = {name: getattr(properties, name) for name in dir(properties) if not name.startswith("_")}
        texts = {name: value for name, value in named.items() if isinstance(value, str)}
        return SeenGpu({**texts, **{name: int(value) for name, value in named.items() if isinstance(value, int)}})

    def timer_overhead(self) -> TimerOverhead | None:
        """Measure it once; None if memory is too short."""
        if self._timer_overhead is None:
            with contextlib.suppress(torch.OutOfMemoryError):
                self._timer_overhead = measure_timer_overhead()
            torch.cuda.empty_cache()
        return self._timer_overhead

    def require_alive(self) -> None:
        run_probe_kernel()

    def free_bytes(self) -> int | None:
        try:
            return int(torch.cuda.mem_get_info()[0])
        except RuntimeError:  # require_alive() says what is wrong
            return None


def run_probe_kernel(timeout_s: float = _PROBE_TIMEOUT_S) -> None:
    """Check that the GPU still computes the right result, within a time limit. Takes a tenth of a millisecond on a GPU
    that is well. Raises: MachineError."""
    try:
        total = torch.ones(_PROBE_ELEMENTS, dtype=torch.int32, device="cuda").sum()
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record()
        deadline = time.monotonic() + timeout_s
        while not done.query():  # type: ignore[no-untyped-call]  # synchronize() would never come back from a GPU that is stuck
            if time.monotonic() > deadline:
                raise MachineError(f"the GPU didn't finish a small kernel within {timeout_s:g} s; {_REMEDY}")
            time.sleep(_PROBE_POLL_S)
        result = int(total.item())
    except RuntimeError as error:
        raise MachineError(f"the GPU fails ({str(error).splitlines()[0]}); {_REMEDY}") from error
    if result != _PROBE_ELEMENTS:
        raise MachineError(f"the GPU counts {result} where {_PROBE_ELEMENTS} is right; {_REMEDY}")


def measure_timer_overhead() -> TimerOverhead:
    """Measure what the clock of a timed call shows for nothing at all, and for an empty kernel; medians.

    Raises: DeviceFault, torch.OutOfMemoryError.
    """
    meter = Meter()
    lead_in, stream = LeadIn(meter), meter.stream()
    return TimerOverhead(
        events_ns=_median_ns(meter, lead_in, lambda stream: None, stream),
        kernel_ns=_median_ns(meter, lead_in, lead_in.nothing, stream),
        idle_ns=_median_until_idle_ns(meter, lead_in, stream),
    )


def _median_ns(meter: Meter, lead_in: LeadIn, work: Callable[[int], None], stream: int) -> float:
    """Return the median of those whose launch came while the device was held, if any did: on a busy host the others
    show how long that took (614 µs, once)."""
    samples: dict[bool, list[int]] = {True: [], False: []}
    for _ in range(_OVERHEAD_SAMPLES):
        is_held = lead_in.clear_cache(HOLD_NS, stream)
        meter.record_start(stream)
        work(stream)
        meter.record_end(stream)
        queued = is_held and not meter.has_started()
        meter.await_idle()
        samples[queued].append(meter.elapsed_ns())
    return statistics.median(samples[True] or samples[False])


def _median_until_idle_ns(meter: Meter, lead_in: LeadIn, stream: int) -> float:
    samples = []
    for _ in range(_OVERHEAD_SAMPLES):
        lead_in.clear_cache(0, stream)
        meter.await_idle()
        started = clock_ns()
        lead_in.nothing(stream)
        meter.await_idle()
        samples.append(clock_ns() - started)
    return statistics.median(samples)


def _set_allocator(settings: str) -> None:
    """Change torch's allocator in this process; older versions have another name for it, and do without where none."""
    for name in ("_accelerator_setAllocatorSettings", "_cuda_cudaCachingAllocator_set_allocator_settings"):
        if change := getattr(torch._C, name, None):
            change(settings)
            return
