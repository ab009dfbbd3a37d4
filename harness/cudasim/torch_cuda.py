"""The answers of `torch.cuda` once the simulator stands behind it, whichever build of torch it belongs to."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any  # torch.cuda's functions take arguments of many shapes, none of which matter here

import torch
import torch.cuda
import torch.cuda.graphs
import torch.cuda.memory
import torch.cuda.nvtx
import torch.cuda.random
import torch.cuda.streams

from harness.cudasim.graphs import Graph

if TYPE_CHECKING:
    from harness.cudasim.loaded import Runtime

_GiB = 1 << 30


@dataclass(frozen=True)
class DeviceProperties:
    """An H100's properties, those that solutions ask for."""

    name: str = "Simulated sm_90"
    major: int = 9
    minor: int = 0
    total_memory: int = 80 * _GiB
    multi_processor_count: int = 132
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    warp_size: int = 32
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 232448
    shared_memory_per_multiprocessor: int = 233472
    regs_per_multiprocessor: int = 65536
    L2_cache_size: int = 50 << 20
    is_integrated: bool = False


def _always(value: object) -> Callable[..., Any]:
    def answer(*_: object, **__: object) -> Any:
        return value

    return answer


class Event:
    """An event, ordered like a real one; its times are the CPU's."""

    def __init__(self, *_: object, **__: object) -> None:
        self._recorded_s = 0.0

    def record(self, stream: object = None) -> None:
        self._recorded_s = time.perf_counter()

    wait = synchronize = _always(None)  # nothing runs behind the caller's back
    query = _always(True)

    def elapsed_time(self, end: Event) -> float:
        """Return milliseconds."""
        return (end._recorded_s - self._recorded_s) * 1e3


class Stream:
    """The default stream, whatever was asked for: all of them are alike."""

    cuda_stream: int
    is_own = True
    stream_id = 0
    device_index = 0
    device_type = 1

    def __init__(self, device: object = None, priority: int = 0, **_: object) -> None:
        self.device = torch.device("cuda", 0)
        self.priority = priority

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return hash(self.device)

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    wait_stream = wait_event = _always(None)
    query = _always(True)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        """Return the least and the greatest priority that torch has streams of."""
        return 0, -3

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record()
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def patch_torch(runtime: Runtime) -> None:
    """Replace what torch without a GPU refuses to do for CUDA."""
    _patch_presence()
    _patch_device()
    _patch_streams(runtime)
    _patch_graphs(runtime)
    _patch_memory()
    setattr(torch, "compile", _uncompiled)  # noqa: B010
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):  # for profilers
        setattr(torch.cuda.nvtx, name, _always(0))
    sys.modules["triton"] = None  # type: ignore[assignment]  # importing it fails: its kernels would look for a GPU
    # deepcopy of a module clones storages, and a CPU build has no kernel for a CUDA one.
    setattr(torch.UntypedStorage, "clone", _storage_clone(torch.UntypedStorage.clone))  # noqa: B010


def _uncompiled(model: Any = None, **options: object) -> Any:
    """Stand for torch.compile and its decorator: the framework's operators run as they are."""
    return _uncompiled if model is None else model


def _set(**functions: object) -> None:
    """Set them in torch.cuda, and in those of its modules that solutions may take them from as well."""
    parts = (torch.cuda.graphs, torch.cuda.memory, torch.cuda.random, torch.cuda.streams)
    for name, function in functions.items():
        for module in (torch.cuda, *(part for part in parts if hasattr(part, name))):
            setattr(module, name, function)


def _patch_presence() -> None:
    _set(
        _lazy_init=_always(None),
        init=_always(None),
        is_initialized=_always(True),
        is_available=_always(True),
        _is_compiled=_always(True),
        is_bf16_supported=_always(True),
        device_count=_always(1),
    )
    torch._C._cuda_getDeviceCount = _always(1)
    setattr(torch._C._dynamo.guards, "_empty_strided_cuda", _empty_strided)  # noqa: B010 - Inductor's code allocates by it


def _empty_strided(size: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def _patch_device() -> None:
    properties = DeviceProperties()
    _set(
        current_device=_always(0),
        set_device=_always(None),
        get_device_properties=_always(properties),
        get_device_name=_always(properties.name),
        get_device_capability=_always((properties.major, properties.minor)),
        get_arch_list=_always(["sm_90"]),
        device=CurrentDevice,
        _exchange_device=_always(0),
        _maybe_exchange_device=_always(0),
        manual_seed=_seed,
        manual_seed_all=_seed,
        get_rng_state=lambda device=None: torch.get_rng_state(),
        set_rng_state=lambda state, device=None: torch.set_rng_state(state),
        initial_seed=torch.initial_seed,
        can_device_access_peer=_always(False),
        ipc_collect=_always(None),
        _sleep=_always(None),
    )
    try:
        torch.Generator("cuda")  # CUDA builds of torch 2.6 make a GPU's themselves
    except RuntimeError:
        setattr(torch, "Generator", Generator)  # noqa: B010


class CurrentDevice(AbstractContextManager[None]):
    """Context with a GPU as the current one, which the only one always is. A class, since torch asks for instances."""

    def __init__(self, device: object = None) -> None:
        self.idx = self.prev_idx = 0

    def __exit__(self, *_: object) -> None:
        return None


class Generator(torch.Generator):
    """The CPU's generator, whatever device was asked for."""

    def __new__(cls, device: object = None) -> Generator:
        return super().__new__(cls, "cpu")  # type: ignore[call-arg]  # torch's stubs have an __init__ instead


def _seed(seed: int) -> None:
    """Seed the CPU's generator, from which the device's random numbers come."""
    torch.default_generator.manual_seed(seed)


def _patch_streams(runtime: Runtime) -> None:
    def synchronize_device(device: object = None) -> None:
        runtime.synchronize()

    def a_stream(device: object = None) -> Stream:
        stream = Stream()
        stream.is_own = False
        return stream

    def on_stream(stream: object) -> nullcontext[object]:
        if getattr(stream, "is_own", False):
            runtime.note_stream("torch.cuda.stream()")
        return nullcontext(stream)

    _set(
        Event=Event,
        Stream=Stream,
        stream=on_stream,
        set_stream=_always(None),
        current_stream=a_stream,
        default_stream=a_stream,
        synchronize=synchronize_device,
        ExternalStream=Stream,
    )
    setattr(Stream, "cuda_stream", property(lambda stream: runtime.current_stream()))  # noqa: B010
    setattr(torch.Tensor, "record_stream", _always(None))  # noqa: B010
    setattr(torch.cuda.graphs.graph, "default_capture_stream", a_stream())  # noqa: B010 - captured, in order


def _patch_memory() -> None:
    _set(
        empty_cache=_always(None),
        set_per_process_memory_fraction=_always(None),
        mem_get_info=_always((80 * _GiB, 80 * _GiB)),
        memory_allocated=_always(0),
        max_memory_allocated=_always(0),
        memory_reserved=_always(0),
        max_memory_reserved=_always(0),
        reset_peak_memory_stats=_always(None),
        reset_max_memory_allocated=_always(None),
        memory_stats=_always({}),
        memory_summary=_always("The simulator counts no device memory."),
    )


def _patch_graphs(runtime: Runtime) -> None:
    def raw_stream(device: int) -> int:
        return runtime.current_stream()

    graph = type("CUDAGraph", (Graph,), {"runtime": runtime})
    _set(
        CUDAGraph=graph,
        graph_pool_handle=_always((0, 0)),
        is_current_stream_capturing=lambda: runtime.current_stream() != 0,
    )
    ours = {"_cuda_getCurrentRawStream": raw_stream, "_host_emptyCache": _always(None), "_CUDAGraph": graph}
    for name, made in ours.items():
        setattr(torch._C, name, made)  # a CPU build's stubs have no such names


def _storage_clone(clone_on_cpu: Callable[..., Any]) -> Callable[..., Any]:
    def clone(storage: torch.UntypedStorage) -> Any:
        if storage.device.type != "cuda":
            return clone_on_cpu(storage)
        copy = torch.empty(storage.nbytes(), dtype=torch.uint8, device="cuda")
        copy.copy_(torch.empty(0, dtype=torch.uint8, device="cuda").set_(storage))
        return copy.untyped_storage()

    return clone
