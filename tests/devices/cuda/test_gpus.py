"""What the driver says without torch."""

from __future__ import annotations

import ctypes
import subprocess

import pytest

from harness.devices.cuda.gpus import driver_version


@pytest.mark.gpu
def test_the_driver_is_named_as_nvidia_smi_names_it() -> None:
    said = subprocess.check_output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], text=True)
    assert driver_version() == said.splitlines()[0]


def test_without_nvml_no_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert driver_version() is None
