"""What the driver says without torch."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from harness.devices.cuda import gpus, hip
from harness.devices.cuda.gpus import Gpu, driver_version


@pytest.mark.gpu
def test_the_driver_is_named_as_nvidia_smi_names_it() -> None:
    said = subprocess.check_output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], text=True)
    assert driver_version() == said.splitlines()[0]


def test_without_nvml_amds_driver_is_named_or_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert driver_version() is None
    of_amd = tmp_path / "version"
    monkeypatch.setattr(gpus, "_OF_AMD", of_amd)
    assert driver_version() is None
    of_amd.write_text("6.12.12\n")
    assert driver_version() == "6.12.12"


def test_amds_gpus_are_told_apart_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(1, "MI300X", "GPU-1")
    assert gpu.variables == {"CUDA_VISIBLE_DEVICES": "GPU-1"}
    monkeypatch.setattr(hip, "IS_HIP", True)
    monkeypatch.setattr(hip, "visible_alone", lambda index: {"HIP_VISIBLE_DEVICES": str(index)})
    assert gpu.variables == {"HIP_VISIBLE_DEVICES": "1"}
