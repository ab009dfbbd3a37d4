"""Reading one GPU through NVML: the right one, and None for what its driver doesn't tell."""

from __future__ import annotations

import sys

import pytest

from harness.devices.cuda.gpus import Gpu
from harness.devices.cuda.nvml import NvmlUnavailable, Sample, load_library, opened, reason_names
from tests.scripted_nvml import GPU, NvmlError, ScriptedNvml, process

OTHER = "GPU-99999999-0000-0000-0000-000000000009"
INSTANCE = "MIG-6a1b6a3c-0000-0000-0000-000000000001"


def test_a_driver_that_tells_everything() -> None:
    told = {"SmClock": 1755, "MemoryClock": 2619, "FieldValues": 412345, "GetTemperature": 51}
    nvml = ScriptedNvml(**told, GetCurrentClocksEventReasons=0x4)
    with nvml.opened() as gpu:
        assert gpu.sample() == Sample(1755, 2619, 412.345, 51, 0x4)
    assert nvml.users == 0


def test_a_driver_that_tells_nothing() -> None:
    with ScriptedNvml().opened() as gpu:
        assert gpu.sample() == Sample(None, None, None, None, None)
        assert gpu.processes() is None
        assert gpu.sm_clocks_mhz() == ()


def test_the_average_power_where_that_of_the_moment_is_not_told() -> None:
    with ScriptedNvml(GetPowerUsage=70500).opened() as gpu:
        assert gpu.sample().power_w == 70.5


def test_memory_that_the_driver_does_not_tell_is_none() -> None:
    nvml = ScriptedNvml(GetComputeRunningProcesses=[process(7, 2**30), process(8, None), process(9, 0)])
    with nvml.opened() as gpu:
        assert gpu.processes() == {7: 2**30, 8: None, 9: None}


def test_clocks_are_those_at_the_highest_memory_clock() -> None:
    nvml = ScriptedNvml(
        GetSupportedMemoryClocks=(1593, 2619), GetSupportedGraphicsClocks={1593: (345,), 2619: (1980, 1965, 345)}
    )
    with nvml.opened() as gpu:
        assert gpu.sm_clocks_mhz() == (345, 1965, 1980)


@pytest.mark.parametrize(
    ("visible", "gpu", "uuids", "device"),
    [
        ("", GPU, (OTHER, GPU.uuid), GPU.uuid),  # NVML counts in another order than torch
        ("", GPU, (OTHER, INSTANCE), INSTANCE),
        (INSTANCE, Gpu(0, "an instance", OTHER), (OTHER, INSTANCE), INSTANCE),
    ],
)
def test_the_gpu_is_the_one_that_torch_uses(
    monkeypatch: pytest.MonkeyPatch, visible: str, gpu: Gpu, uuids: tuple[str, ...], device: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with ScriptedNvml(uuids).opened(gpu) as found:
        assert found._device == device


def test_another_gpu_is_never_taken_for_it() -> None:
    nvml = ScriptedNvml((OTHER,))
    with pytest.raises(NvmlUnavailable, match="doesn't know the GPU"), nvml.opened(GPU):
        pass
    assert nvml.users == 0


def test_an_instance_has_the_clocks_of_its_board() -> None:
    with ScriptedNvml((INSTANCE,), SmClock=1980).opened() as gpu:
        assert gpu.is_instance
        assert gpu.board == "board of " + INSTANCE
        assert gpu.sample().sm_mhz == 1980


def test_a_driver_that_is_not_loaded() -> None:
    nvml = ScriptedNvml(Init=NvmlError(9, "Driver Not Loaded"))
    with pytest.raises(NvmlUnavailable, match=r"\(Driver Not Loaded\)"), nvml.opened():
        pass


def test_the_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(NvmlUnavailable, match="nvidia-ml-py isn't installed") as caught:
        load_library()
    assert caught.value.remedy == "pip install nvidia-ml-py"
    with pytest.raises(NvmlUnavailable, match="nvidia-ml-py isn't installed"), opened(GPU):
        pass


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0x0, ()),
        (0x1, ()),
        (0x45, ("sw power cap", "hw thermal slowdown")),
        (0x1002, ("applications clocks setting", "reason 0x1000")),
    ],
)
def test_reasons_have_nvmls_names(bits: int, names: tuple[str, ...]) -> None:
    assert reason_names(bits) == names
