"""Reading the facts of a machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.devices.environment import VARIABLES, nvcc_version, read_environment


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable set, and nothing remembered."""
    for name in (*VARIABLES, "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    nvcc_version.cache_clear()
    yield
    nvcc_version.cache_clear()


def compiler(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release, V{version}'\n")
    path.chmod(0o755)
    return path


def test_variables_that_steer_compilers_are_recorded_where_they_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_environment("sim", tmp_path).variables == {}
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-O0")
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0a")
    monkeypatch.setenv("CPATH", "")
    found = read_environment("sim", tmp_path).variables
    assert found == {"NVCC_APPEND_FLAGS": "-O0", "TORCH_CUDA_ARCH_LIST": "9.0a"}


def test_the_nvcc_that_builds_is_asked_not_the_one_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler(tmp_path / "path" / "nvcc", "1.0")
    compiler(tmp_path / "home" / "bin" / "nvcc", "2.0")
    compiler(tmp_path / "chosen", "3.0")
    found = []
    for name, value in (("PATH", "path"), ("CUDA_HOME", "home"), ("PYTORCH_NVCC", "chosen")):
        monkeypatch.setenv(name, str(tmp_path / value), prepend=":" if name == "PATH" else None)
        nvcc_version.cache_clear()
        found.append(nvcc_version())
    assert found == ["1.0", "2.0", "3.0"]
