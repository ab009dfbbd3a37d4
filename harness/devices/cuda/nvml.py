"""One GPU as its driver describes it through NVML (NVIDIA's management library, by nvidia-ml-py).

What a driver doesn't tell is None. Only clocks.py changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.devices.cuda.gpus import Gpu, equal_gpus

Library = Any
"""The module pynvml, which has no annotations, or a script of it in tests."""

_T = TypeVar("_T")

_REASONS = {
    0x002: "applications clocks setting",
    0x004: "sw power cap",
    0x008: "hw slowdown",
    0x010: "sync boost",
    0x020: "sw thermal slowdown",
    0x040: "hw thermal slowdown",
    0x080: "hw power brake slowdown",
    0x100: "display clock setting",
    0x200: "board limit",
    0x400: "reliability",
}
"""The names of nvmlClocksEventReason* and nvmlClocksThrottleReason* in nvml.h, by their bits."""
_IDLE = 0x001
_LOOK = "look whether 'nvidia-smi' answers; without NVML records lack clocks, power and temperature"


class NvmlUnavailable(Exception):
    """NVML can't be asked about the GPU; says why, without a full stop, and what to do."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.remedy = remedy


@dataclass(frozen=True)
class Sample:
    """The GPU's state at one moment, by NVML. `reasons`: bits, see reason_names()."""

    sm_mhz: int | None
    memory_mhz: int | None
    power_w: float | None
    temperature_c: int | None
    reasons: int | None


class NvmlGpu:
    """A GPU, or an instance of a divided one (MIG): clocks, power and heat are then the whole board's."""

    def __init__(self, library: Library, device: Any) -> None:
        """Take `device`, a handle of NVML's."""
        self.library = library
        self._device = device
        self.is_instance = bool(self._told(library.nvmlDeviceIsMigDeviceHandle, device))
        of_board = library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle
        self.board = (self._told(of_board, device) if self.is_instance else device) or device

    def sample(self) -> Sample:
        library, board = self.library, self.board
        return Sample(
            sm_mhz=self._told(library.nvmlDeviceGetClockInfo, board, library.NVML_CLOCK_SM),
            memory_mhz=self._told(library.nvmlDeviceGetClockInfo, board, library.NVML_CLOCK_MEM),
            power_w=self._power_w(),
            temperature_c=self._told(library.nvmlDeviceGetTemperature, board, library.NVML_TEMPERATURE_GPU),
            reasons=self._told(library.nvmlDeviceGetCurrentClocksEventReasons, board),
        )

    def processes(self) -> dict[int, int | None] | None:
        """List the processes that compute on it, with the bytes of its memory that each uses."""
        found = self._told(self.library.nvmlDeviceGetComputeRunningProcesses, self._device)
        return None if found is None else {one.pid: one.usedGpuMemory or None for one in found}

    def sm_clocks_mhz(self) -> tuple[int, ...]:
        """List the clocks that can be locked, the lowest first; none if the driver doesn't tell."""
        memory = self._told(self.library.nvmlDeviceGetSupportedMemoryClocks, self.board)
        if not memory:
            return ()
        clocks = self._told(self.library.nvmlDeviceGetSupportedGraphicsClocks, self.board, max(memory))
        return tuple(sorted(clocks or ()))

    def _power_w(self) -> float | None:
        """Read the power of this moment. nvmlDeviceGetPowerUsage averages over a second on an A100's successors, says
        nvml.h, which is longer than most turns; it is read if the field isn't known."""
        library = self.library
        fields = self._told(library.nvmlDeviceGetFieldValues, self.board, [library.NVML_FI_DEV_POWER_INSTANT])
        if fields and fields[0].nvmlReturn == library.NVML_SUCCESS:
            return int(fields[0].value.uiVal) / 1000
        average_mw = self._told(library.nvmlDeviceGetPowerUsage, self.board)
        return None if average_mw is None else average_mw / 1000

    def _told(self, ask: Callable[..., _T], *arguments: object) -> _T | None:
        try:
            return ask(*arguments)
        except self.library.NVMLError:
            return None


OpenGpu = Callable[[], AbstractContextManager[NvmlGpu]]


@contextmanager
def opened(gpu: Gpu, library: Library | None = None) -> Iterator[NvmlGpu]:
    """Open NVML for a GPU of torch's. Raises: NvmlUnavailable."""
    library = library or load_library()
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        raise NvmlUnavailable(f"NVML doesn't answer ({error})", _LOOK) from None
    try:
        yield NvmlGpu(library, _handle(library, gpu))
    finally:
        library.nvmlShutdown()


@contextmanager
def opened_first() -> Iterator[NvmlGpu]:
    """Open the GPU that torch sees first. Raises: NvmlUnavailable."""
    gpus = equal_gpus()
    if not gpus:
        raise NvmlUnavailable("torch sees no GPU", "there is nothing to watch without one")
    with opened(gpus[0]) as gpu:
        yield gpu


def load_library() -> Library:
    """Import pynvml. Raises: NvmlUnavailable."""
    try:
        import pynvml
    except ImportError:
        raise NvmlUnavailable("nvidia-ml-py isn't installed", "pip install nvidia-ml-py") from None
    return pynvml


def reason_names(bits: int) -> tuple[str, ...]:
    """Say why clocks are held back, in NVML's words; that a GPU is idle is no such reason."""
    known = [name for bit, name in _REASONS.items() if bits & bit]
    unknown = bits & ~(_IDLE | sum(_REASONS))
    return (*known, *([f"reason {unknown:#x}"] if unknown else []))


def _handle(library: Library, gpu: Gpu) -> Any:
    """Find NVML's handle, never by torch's index alone: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER change it."""
    for name in gpu.nvml_names:
        try:
            return library.nvmlDeviceGetHandleByUUID(name)
        except library.NVMLError:
            continue
    raise NvmlUnavailable(f"NVML doesn't know the GPU that torch uses ({gpu.uuid})", _LOOK)
