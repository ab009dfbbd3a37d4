"""What the doctor says of NVML and of locked clocks, over an NVML by a script."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from harness.cudasim import compiler
from harness.devices import environment
from harness.devices.cuda import nvml as nvml_module
from harness.devices.cuda.clocks import SmClock
from harness.model.environment import MachineFinding
from harness.run.gpu_lock import GpuLock
from harness.tools import diagnosis
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
    assert (found.remedy is None) == (found.state == "good")


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
    assert left.state == "warning"
    assert left.detail.startswith(f"{UUID} is locked at 1410 MHz ")
    assert "killed" in left.detail
    assert left.remedy is not None
    assert f"sudo nvidia-smi --id={UUID} --reset-gpu-clocks" in left.remedy
    with GpuLock(UUID, "GPU 0", tmp_path).held(threading.Event(), lambda what: None):
        (held,) = diagnosis._clocks()
    assert held.state == "good"
    assert held.detail.startswith(f"{UUID} is locked at 1410 MHz ")
    assert "killed" not in held.detail


@pytest.mark.parametrize(
    ("script", "state", "detail"),
    [
        ("exit 0", "good", "nvcc 13.0.88 "),
        (
            "echo '/cuda/host_config.h:143:2: error: unsupported GNU version' >&2; exit 1",
            "warning",
            ": /cuda/host_config.h:143:2: error: unsupported GNU version",
        ),
        ("exit 7", "warning", ": exit code 7"),
    ],
)
def test_the_doctor_has_nvcc_compile_a_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, state: str, detail: str
) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\n{script}\n")
    nvcc.chmod(0o755)
    monkeypatch.setattr(environment, "find_nvcc", lambda: environment.Nvcc(str(nvcc), "13.0.88"))
    found = diagnosis._nvcc_beside()
    assert (found.name, found.state) == ("nvcc beside sim", state)
    assert found.detail.startswith("nvcc 13.0.88 ")
    assert detail in found.detail
    assert (found.remedy is None) == (found.state == "good")


def test_the_doctor_says_what_an_nvcc_would_be_good_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "find_nvcc", lambda: None)
    found = diagnosis._nvcc_beside()
    assert found.state == "warning"
    assert found.detail.startswith("no nvcc")
    assert "kernel-harness[nvcc]" in (found.remedy or "")


@pytest.mark.parametrize(("version", "this"), [((3, 9), "3.9"), ((3, 14), "3.14")])
def test_the_doctor_remarks_on_a_python_that_was_not_tried(
    monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], this: str
) -> None:
    remark = compiler.untried_python(version)
    monkeypatch.setattr(compiler, "untried_python", lambda: remark)
    (found,) = diagnosis._untried_python()
    assert found.state == "warning"
    assert "Python 3.10 to 3.13" in found.detail
    assert found.detail.endswith(f" {this}")


@pytest.mark.parametrize("version", [(3, 10), (3, 12), (3, 13)])
def test_a_python_that_was_tried_needs_no_remark(monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]) -> None:
    assert compiler.untried_python(version) is None
    monkeypatch.setattr(compiler, "untried_python", lambda: None)
    assert diagnosis._untried_python() == []
