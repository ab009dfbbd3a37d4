"""NVML as nvidia-ml-py gives it, by a script: what is not in `told` raises as a driver that doesn't know it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from harness.devices.cuda.gpus import Gpu
from harness.devices.cuda.nvml import NvmlGpu, opened

UUID = "GPU-6a1b6a3c-0000-0000-0000-000000000001"
GPU = Gpu(0, "NVIDIA H100 80GB HBM3, 81079 MiB, 9.0", UUID)


class NvmlError(Exception):
    """As pynvml's: `value` is the code."""

    def __init__(self, value: int, text: str) -> None:
        super().__init__(text)
        self.value = value


NOT_SUPPORTED = NvmlError(3, "Not Supported")
NO_PERMISSION = NvmlError(4, "Insufficient Permissions")
NOT_FOUND = NvmlError(6, "Not Found")


class ScriptedNvml:
    """One GPU. A function answers with what `told` holds under its name less 'nvmlDevice': a value, a list whose items
    come one after the other (the last one stays), or an error to raise. `calls` lists what changed something."""

    NVMLError = NvmlError
    NVML_SUCCESS = 0
    NVML_ERROR_NO_PERMISSION = 4
    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    NVML_FI_DEV_POWER_INSTANT = 186

    def __init__(self, uuids: tuple[str, ...] = (UUID,), **told: Any) -> None:
        self.uuids = uuids
        self.told = told
        self.calls: list[tuple[Any, ...]] = []
        self.users = 0

    def opened(self, gpu: Gpu = GPU) -> AbstractContextManager[NvmlGpu]:
        return opened(gpu, self)

    def nvmlInit(self) -> None:  # noqa: N802
        self._answer("Init", None)
        self.users += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.users -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        if uuid not in self.uuids:
            raise NOT_FOUND
        return uuid

    def nvmlDeviceIsMigDeviceHandle(self, device: str) -> bool:  # noqa: N802
        return device.startswith("MIG-")

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, device: str) -> str:  # noqa: N802
        return "board of " + device

    def nvmlDeviceGetClockInfo(self, board: str, kind: int) -> Any:  # noqa: N802
        return self._answer({1: "SmClock", 2: "MemoryClock"}[kind])

    def nvmlDeviceGetFieldValues(self, board: str, fields: list[int]) -> list[Any]:  # noqa: N802
        assert fields == [186]
        milliwatts = self._answer("FieldValues")
        return [SimpleNamespace(nvmlReturn=0, value=SimpleNamespace(uiVal=milliwatts))]

    def nvmlDeviceGetSupportedGraphicsClocks(self, board: str, memory_mhz: int) -> Any:  # noqa: N802
        return self._answer("GetSupportedGraphicsClocks")[memory_mhz]

    def nvmlDeviceSetGpuLockedClocks(self, board: str, least_mhz: int, most_mhz: int) -> None:  # noqa: N802
        self._answer("SetGpuLockedClocks", None)
        self.calls.append(("lock", board, least_mhz, most_mhz))

    def nvmlDeviceResetGpuLockedClocks(self, board: str) -> None:  # noqa: N802
        self._answer("ResetGpuLockedClocks", None)
        self.calls.append(("reset", board))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvmlDeviceGet"):
            raise AttributeError(name)
        return lambda *arguments: self._answer(name.removeprefix("nvmlDevice"))

    def _answer(self, name: str, default: Any = NOT_SUPPORTED) -> Any:
        answer = self.told.get(name, default)
        if isinstance(answer, list) and name != "GetComputeRunningProcesses":
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def process(pid: int, used_bytes: int | None) -> SimpleNamespace:
    """An item of GetComputeRunningProcesses."""
    return SimpleNamespace(pid=pid, usedGpuMemory=used_bytes)
