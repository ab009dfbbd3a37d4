"""What the doctor says of NVML and of locked clocks, over an NVML by a script."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from harness.backends.cuda import nvml as nvml_module
from harness.backends.cuda.clocks import SmClock
from harness.executors import diagnosis
from harness.executors.gpu_lock import GpuLock
from harness.records.finding import MachineFinding
from tests.scripted_nvml import GPU, UUID, NvmlError, ScriptedNvml


@pytest.mark.parametrize(
    ("nvml", "state", "detail"),
    [
        (
            ScriptedNvml(
                SmClock=1980,
                MemoryClock=2619,
                FieldValues=70_400,
                GetTemperature=35,
                GetCurrentClocksEventReasons=1,
            ),
            "good",
            "SM clock 1980 MHz, memory clock 2619 MHz, power 70 W, temperature 35 °C",
        ),
        (
            ScriptedNvml(SmClock=1980),
            "good",
            "SM clock 1980 MHz; not told: memory clock, power, temperature, throttling",
        ),
        (ScriptedNvml(Init=NvmlError(9, "Driver Not Loaded")), "warning", "NVML doesn't answer (Driver Not Loaded)"),
    ],
)
def test_the_doctor_says_what_nvml_tells(
    monkeypatch: pytest.MonkeyPatch, nvml: ScriptedNvml, state: str, detail: str
) -> None:
    monkeypatch.setattr(nvml_module, "equal_gpus", lambda: [GPU])
    monkeypatch.setattr(nvml_module, "load_library", lambda: nvml)
    found = diagnosis._nvml()
    assert (found.name, found.state, found.detail) == ("NVML", state, detail)
    assert (found.remedy is None) == found.is_good


def test_the_doctor_names_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml_module, "equal_gpus", lambda: [GPU])
    monkeypatch.setitem(sys.modules, "pynvml", None)
    wanted = MachineFinding("NVML", "warning", "nvidia-ml-py isn't installed", "pip install nvidia-ml-py")
    assert diagnosis._nvml() == wanted


def test_the_doctor_says_which_clocks_are_locked_and_by_whom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    monkeypatch.setenv("HARNESS_LOCKS", str(tmp_path))
    assert diagnosis._clocks() == []
    SmClock(UUID, tmp_path)._leave_note(1410)
    (left,) = diagnosis._clocks()
    assert (left.state, left.detail) == ("warning", f"{UUID} is locked at 1410 MHz by a run that was killed")
    assert left.remedy is not None
    assert f"sudo nvidia-smi --id={UUID} --reset-gpu-clocks" in left.remedy
    with GpuLock(UUID, "GPU 0", tmp_path).held(threading.Event(), lambda what: None):
        (held,) = diagnosis._clocks()
    assert (held.state, held.detail) == ("good", f"{UUID} is locked at 1410 MHz by a run that measures just now")
