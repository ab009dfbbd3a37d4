"""HIP in the place of CUDA, as far as that can be tried without an AMD GPU."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from harness.devices.cuda import hip, meter, runtime
from tests.machine import ROOT

KERNELS = ROOT / "harness/devices/cuda/kernels"


class Hip:
    """A HIP library that has all functions of that name, and notes which are looked up. All succeed."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("hip"):
            raise AttributeError(name)
        self.found.append(name)
        return lambda *arguments: 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Hip:
    found = Hip()
    for module in (meter, runtime):
        monkeypatch.setattr(module, "IS_HIP", True)
        monkeypatch.setattr(module, "runtime_library", lambda: found)
    monkeypatch.setattr(torch, "zeros", lambda *shape, device: None)
    return found


@pytest.fixture
def amd() -> ctypes.CDLL:
    for name in ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    pytest.skip("no HIP is installed here")


def test_the_meter_looks_everything_up_by_hips_names(library: Hip) -> None:
    meter.Meter()
    assert set(library.found) == set(hip.DRIVER_NAMES.values())


def test_nothing_is_forgotten_of_a_cache_without_persisting_lines(library: Hip) -> None:
    used = meter.Meter()
    library.found.clear()
    used.forget_persisting()
    assert library.found == []


def test_shared_memory_is_hips(library: Hip) -> None:
    assert runtime.take_last_error() is None
    runtime.free(256)
    runtime.close_ipc(256)
    assert len(runtime.ipc_token(256)) == 2 * 64
    assert library.found == ["hipGetLastError", "hipFree", "hipIpcCloseMemHandle", "hipIpcGetMemHandle"]


def test_amds_library_has_these_names(amd: ctypes.CDLL) -> None:
    runtime_names = ("Malloc", "Free", "IpcGetMemHandle", "IpcOpenMemHandle", "IpcCloseMemHandle", "GetLastError")
    names = [*hip.DRIVER_NAMES.values(), *(f"hip{name}" for name in (*runtime_names, "GetErrorString"))]
    assert {name for name in names if not hasattr(amd, name)} <= {"hipDrvGetErrorString"}  # which came with ROCm 5.6


@pytest.mark.parametrize("source", sorted(KERNELS.glob("*.cu")), ids=lambda path: path.stem)
def test_amds_compiler_takes_our_kernels(amd: ctypes.CDLL, source: Path) -> None:
    code = hip.compile_kernels(source, "gfx90a", hip.compiler_beside(amd._name))
    assert code.startswith(b"\x7fELF") or b"__CLANG_OFFLOAD_BUNDLE__" in code
    expected = {"around_a_call": [b"harness_lead_in", b"harness_evict"], "strided_copy": [b"harness_strided_copy"]}
    assert all(name in code for name in expected[source.stem])


def test_its_refusal_has_its_words(amd: ctypes.CDLL, tmp_path: Path) -> None:
    source = tmp_path / "wrong.cu"
    source.write_text('extern "C" __global__ void wrong() { undeclared(); }')
    with pytest.raises(RuntimeError, match="undeclared"):
        hip.compile_kernels(source, "gfx90a", hip.compiler_beside(amd._name))


@pytest.mark.parametrize(
    ("variables", "alone"),
    [
        ({}, {"HIP_VISIBLE_DEVICES": "1"}),
        ({"HIP_VISIBLE_DEVICES": "4, 6"}, {"HIP_VISIBLE_DEVICES": "6"}),
        ({"CUDA_VISIBLE_DEVICES": "2,3"}, {"HIP_VISIBLE_DEVICES": "3"}),
    ],
)
def test_a_process_sees_one_of_several(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], alone: dict[str, str]
) -> None:
    for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert hip.visible_alone(1) == alone


def test_builders_know_the_architecture_and_see_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTORCH_ROCM_ARCH", raising=False)
    monkeypatch.setattr(hip, "architecture", lambda: "gfx942")
    assert hip.worker_environment(for_build=False) == {"PYTORCH_ROCM_ARCH": "gfx942"}
    assert hip.worker_environment(for_build=True) == {"PYTORCH_ROCM_ARCH": "gfx942", "HIP_VISIBLE_DEVICES": "-1"}
    monkeypatch.setenv("PYTORCH_ROCM_ARCH", "gfx90a")
    assert hip.worker_environment(for_build=False) == {"PYTORCH_ROCM_ARCH": "gfx90a"}
