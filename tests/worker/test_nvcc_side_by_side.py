"""Reading nvcc's dry run: run in two strands where that is possible, left to nvcc where it isn't."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils import cpp_extension

from harness.worker import nvcc_side_by_side
from harness.worker.nvcc_side_by_side import read_passes
from harness.worker.slim_build import side_by_side_nvcc

ONE_ARCHITECTURE = """\
#$ _NVVM_BRANCH_=nvvm
#$ CICC_PATH=/cuda/nvvm/bin
#$ PATH=/cuda/nvvm/bin:/usr/bin
#$ INCLUDES="-I/cuda/include"
#$ gcc -E -x c++ "k.cu" -o "/tmp/x/k.cpp4.ii"
#$ cudafe++ --gen_module_id_file --module_id_file_name "/tmp/x/k.module_id" "/tmp/x/k.cpp4.ii"
#$ gcc -D__CUDA_ARCH__=900 -E -x c++ "k.cu" -o "/tmp/x/k.cpp1.ii"
#$ "$CICC_PATH/cicc" --module_id_file_name "/tmp/x/k.module_id" "/tmp/x/k.cpp1.ii" -o "/tmp/x/k.ptx"
#$ ptxas -arch=sm_90 "/tmp/x/k.ptx" -o "/tmp/x/k.cubin"
#$ fatbinary "--image3=kind=elf,sm=90,file=/tmp/x/k.cubin" --embedded-fatbin="/tmp/x/k.fatbin.c"
#$ rm /tmp/x/k.fatbin
#$ gcc -D__CUDA_ARCH__=900 -c -x c++ "/tmp/x/k.cudafe1.cpp" -o "k.o"
"""


def test_passes_of_host_and_device_are_told_apart() -> None:
    passes = read_passes(ONE_ARCHITECTURE)
    assert passes is not None
    assert [command.split()[0] for command in passes.host] == ["gcc", "cudafe++"]
    assert [command.split()[0] for command in passes.device] == ["gcc", '"$CICC_PATH/cicc"', "ptxas", "fatbinary"]
    assert passes.last == 'gcc -D__CUDA_ARCH__=900 -c -x c++ "/tmp/x/k.cudafe1.cpp" -o "k.o"'
    assert passes.id_file == Path("/tmp/x/k.module_id")
    assert passes.variables == {"CICC_PATH": "/cuda/nvvm/bin", "PATH": "/cuda/nvvm/bin:/usr/bin"}


def test_neither_pass_makes_up_the_identifier_that_both_read() -> None:
    passes = read_passes(ONE_ARCHITECTURE)
    assert passes is not None
    assert not any("--gen_module_id_file" in command for command in (*passes.host, *passes.device))


@pytest.mark.parametrize(
    "other",
    [
        "",
        "nvcc fatal   : Unknown option '-x'\n",
        ONE_ARCHITECTURE + '#$ ptxas -arch=sm_80 "/tmp/x/k2.ptx" -o "/tmp/x/k2.cubin"\n',
        ONE_ARCHITECTURE + '#$ nvlink -arch=sm_90 "k.o"\n',
        ONE_ARCHITECTURE.replace("fatbinary", "newbinary"),
    ],
)
def test_anything_else_is_left_to_nvcc(other: str) -> None:
    assert read_passes(other) is None


def test_torch_asks_for_nothing_that_keeps_the_passes_from_being_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nvcc 13 shows '-- Filter Dependencies -->' among its commands where dependencies are wanted."""
    nvcc, asked, source = tmp_path / "bin" / "nvcc", tmp_path / "asked", tmp_path / "k.cu"
    nvcc.parent.mkdir()
    nvcc.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexit 1\n')
    nvcc.chmod(0o755)
    source.write_text("")
    monkeypatch.setattr(cpp_extension, "CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    monkeypatch.delenv("PYTORCH_NVCC", raising=False)
    load: Any = cpp_extension.load
    with side_by_side_nvcc(), pytest.raises(RuntimeError, match="building extension"):
        load("k", [str(source)], build_directory=str(tmp_path))
    dry_run, real = asked.read_text().splitlines()
    assert dry_run == f"--dryrun {real}"
    assert not {"-MD", "-MF", "--generate-dependencies-with-compile"} & set(real.split())
    assert not {"PYTORCH_NVCC", "TORCH_EXTENSION_SKIP_NVCC_GEN_DEPENDENCIES"} & set(os.environ)


KERNEL = """
namespace { __device__ int counter; __constant__ float scale = 2.0f; }
static __global__ void kernel(float* x) { x[threadIdx.x] *= scale; atomicAdd(&counter, 1); }
void launch(float* x) { kernel<<<1, 32>>>(x); }
"""


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc, which is not on the PATH")
@pytest.mark.parametrize("source", [KERNEL, "this is no program"])
def test_outcome_is_nvccs_own(source: str, tmp_path: Path) -> None:
    """What the file keeps to itself is named alike on both sides, or the kernel would not be found at run time."""
    (tmp_path / "k.cu").write_text(source)
    nvcc = str(shutil.which("nvcc"))
    arguments = ["-arch=sm_90", "-Xptxas=-v", "-c", "k.cu", "-o"]
    alone = subprocess.run([nvcc, *arguments, "alone.o"], cwd=tmp_path, capture_output=True, text=True)
    script = [sys.executable, "-I", "-S", nvcc_side_by_side.__file__, nvcc]
    ours = subprocess.run([*script, *arguments, "ours.o"], cwd=tmp_path, capture_output=True, text=True)
    assert ours.returncode == alone.returncode
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == []
    if alone.returncode:
        assert ours.stderr == alone.stderr
    else:
        assert "Compiling entry function" in ours.stderr
        registered = (tmp_path / "ours.o").read_bytes()
        (name,) = [line.split("'")[1] for line in ours.stderr.splitlines() if "Compiling entry function" in line]
        assert registered.count(name.encode()) >= 2
