"""The real nvcc's command for a simulated build, and what is made of its runs: over an nvcc by a script."""

from __future__ import annotations

import json
import os
import shlex
import struct
import sys
from pathlib import Path

import pytest

from harness.sandbox.wire.layout import scratch_folder, solutions_folder
from harness.sandbox.wire.messages import CompileForGpu, NvccCall, NvccRun
from harness.worker.cubin import constant_bytes
from harness.worker.gpu_compilation import ABSENT, compile_for_gpu, cubin_arguments, wanted_architectures
from harness.worker.slim_build import HEADERS

TORCH_S = shlex.split(
    "--generate-dependencies-with-compile --dependency-output cuda.cuda.o.d -DTORCH_EXTENSION_NAME=x -isystem /inc "
    "-D__CUDA_NO_HALF_OPERATORS__ --expt-relaxed-constexpr -gencode=arch=compute_90,code=sm_90 "
    "--compiler-options '-fPIC' -O3 -std=c++20 -c /b/cuda.cu -o cuda.cuda.o"
)
PLAIN = "#include <torch/types.h>\n__global__ void k() {}\n"


def call(*more: str, text: str = PLAIN, source: str = "/b/cuda.cu") -> NvccCall:
    return NvccCall((*TORCH_S, *more), source, text)


def test_all_that_decides_the_code_is_kept() -> None:
    assert cubin_arguments(call("-Xptxas", "-O1", "-arch", "sm_80", "-dc")) == [
        "-DTORCH_EXTENSION_NAME=x", "-isystem", "/inc", "-D__CUDA_NO_HALF_OPERATORS__", "--expt-relaxed-constexpr",
        "--compiler-options", "-fPIC", "-O3", "-std=c++20", "-Xptxas", "-O1", "-rdc=true",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ("-gencode=arch=compute_90,code=sm_90", ("sm_86", "sm_100")),
        ("-O3", ("sm_86", "sm_100")),
        ("-arch=sm_80", ("sm_80",)),
        ("-arch sm_90a", ("sm_90a",)),
        ("--gpu-architecture=compute_75 --gpu-code=compute_75", ("sm_75",)),
        ("-gencode arch=compute_80,code=sm_86 -gencode=arch=compute_90,code=compute_90", ("sm_86", "sm_90")),
        ("-arch=native", ("sm_86", "sm_100")),
        ("-gencode=arch=compute_75,code=[sm_75,sm_80,sm_86,sm_90]", ("sm_80", "sm_86", "sm_90")),
    ],
)
def test_architectures_are_the_flags_own(flags: str, wanted: tuple[str, ...]) -> None:
    assert wanted_architectures(shlex.split(flags), ("sm_86", "sm_100")) == wanted


class Scripted:
    """An nvcc that answers its calls in turn, and writes down what it was asked."""

    def __init__(self, folder: Path, *answers: tuple[int, str]) -> None:
        self.path = folder / "nvcc"
        self._asked = folder / "asked"
        self._asked.mkdir()
        script = f"""#!{sys.executable}
import json, os, pathlib, sys
answers, asked = {list(answers)!r}, pathlib.Path({str(self._asked)!r})
number = len(list(asked.iterdir()))
(asked / str(number)).write_text(json.dumps([os.getcwd(), *sys.argv[1:]]))
code, said = answers[number]
sys.stderr.write(said)
sys.exit(code)
"""
        self.path.write_text(script)
        self.path.chmod(0o755)

    @property
    def commands(self) -> list[list[str]]:
        found = sorted(self._asked.iterdir(), key=lambda path: int(path.name))
        return [json.loads(path.read_text()) for path in found]


def compiled(tmp_path: Path, nvcc: Scripted, *calls: NvccCall, architectures: tuple[str, ...]) -> tuple[NvccRun, ...]:
    folder = tmp_path / "worker"
    scratch_folder(folder).mkdir(parents=True, exist_ok=True)
    return compile_for_gpu(CompileForGpu(str(nvcc.path), calls, architectures), folder).runs


def test_source_is_written_anew_and_slim_headers_come_first(tmp_path: Path) -> None:
    nvcc = Scripted(tmp_path, (0, "ptxas info : fine"))
    (run,) = compiled(tmp_path, nvcc, call(text=PLAIN + "torch::empty_like(x);"), architectures=("sm_90",))
    place = tmp_path / "worker" / "scratch" / "nvcc" / "0"
    assert (run.architecture, run.exit_code, run.output, run.refuses_command) == (
        "sm_90",
        0,
        "ptxas info : fine",
        False,
    )
    (command,) = nvcc.commands
    assert command[:5] == [str(place), "-cubin", "-arch=sm_90", f"-I{place / 'headers'}", f"-I{HEADERS}"]
    assert command[-5:] == [
        "-Xptxas=-v", f"-Xcompiler=-idirafter,{ABSENT}", str(place / "cuda.cu"), "-o", str(place / "out.cubin"),
    ]  # fmt: skip
    assert (place / "cuda.cu").read_text().startswith("#include <torch/types.h>")
    assert "ATen/ops/empty_like.h" in (place / "headers" / "ATen" / "Functions.h").read_text()


def test_source_among_the_solution_s_files_is_compiled_where_it_lies(tmp_path: Path) -> None:
    source = solutions_folder(tmp_path / "worker") / "kernel.cu"
    source.parent.mkdir(parents=True)
    source.write_text('#include "beside.cuh"\n')
    nvcc = Scripted(tmp_path, (0, ""))
    compiled(tmp_path, nvcc, NvccCall(("-c", str(source)), str(source), "other"), architectures=("sm_90",))
    assert str(source) in nvcc.commands[0]


def test_source_that_a_solution_has_generated_finds_the_headers_beside_it(tmp_path: Path) -> None:
    source = solutions_folder(tmp_path / "worker") / "double" / "own" / "generated.cu"
    nvcc = Scripted(tmp_path, (0, ""))
    generated = NvccCall(("-c", str(source)), str(source), '#include "beside.cuh"\n')
    compiled(tmp_path, nvcc, generated, architectures=("sm_90",))
    assert f"-I{source.parent}" in nvcc.commands[0]
    assert (scratch_folder(tmp_path / "worker") / "nvcc" / "0" / "generated.cu").read_text() == generated.text


def test_every_architecture_is_compiled_until_one_fails(tmp_path: Path) -> None:
    nvcc = Scripted(tmp_path, (0, ""), (1, "ptxas error   : Entry function 'k' uses too much shared data"))
    runs = compiled(tmp_path, nvcc, call(), call(), architectures=("sm_80", "sm_90", "sm_100"))
    assert [(run.architecture, run.exit_code) for run in runs] == [("sm_80", 0), ("sm_90", 1)]


@pytest.mark.parametrize(
    ("first", "tries"),
    [
        ('cuda.cu(3): error: namespace "torch" has no member "thing"', 2),
        ('cuda.cu(3): error: identifier "ScalarType" is undefined', 2),
        ("cuda.cu:3:10: fatal error: torch/csrc/thing.h: No such file or directory", 2),
        ('cuda.cu(3): error: calling a __host__ function("f()") from a __global__ function("k") is not allowed', 1),
        ('cuda.cu(3): error: expected a ";"', 1),
        ('cuda.cu(3): error: no suitable constructor exists to convert from "const float" to "float4"', 1),
        ('cuda.cu(3): error: class "at::Tensor" has no member "lenght"', 1),
        ('cuda.cu(3): error: no instance of overloaded function "torch::zeros" matches the argument list', 2),
        ('cuda.cu(3): error: expected a ";"\n\ncuda.cu(4): error: incomplete type "at::X" is not allowed', 2),
        ('cuda.cu(3): error: identifier "C_out_of_nowhere" is undefined', 1),
        ("ptxas error   : Entry function 'k' uses too much shared data (0x1c000 bytes, 0xc000 max)", 1),
    ],
)
def test_what_may_be_for_want_of_a_header_is_tried_with_all(tmp_path: Path, first: str, tries: int) -> None:
    nvcc = Scripted(tmp_path, (1, first), (0, ""))
    (run,) = compiled(tmp_path, nvcc, call(), architectures=("sm_90",))
    assert (len(nvcc.commands), run.exit_code) == (tries, 2 - tries)
    assert [f"-I{HEADERS}" in command for command in nvcc.commands] == [True, False][:tries]


def test_source_that_needs_the_full_headers_gets_them_at_once(tmp_path: Path) -> None:
    nvcc = Scripted(tmp_path, (0, ""))
    compiled(tmp_path, nvcc, call(text="torch::nn::Linear l;"), architectures=("sm_90",))
    assert f"-I{HEADERS}" not in nvcc.commands[0]


def test_refused_command_is_told_from_one_that_only_we_gave(tmp_path: Path) -> None:
    fatal = "nvcc fatal   : Unknown option '--fast'\n"
    nvcc = Scripted(tmp_path, (1, fatal), (1, fatal))
    (run,) = compiled(tmp_path, nvcc, call("--fast"), architectures=("sm_90",))
    assert (run.refuses_command, run.output) == (True, fatal)
    place, *again = nvcc.commands[1]
    assert again == ["--dryrun", *TORCH_S[:-3], f"{place}/cuda.cu", *TORCH_S[-2:], "--fast"]
    (tmp_path / "other").mkdir()
    ours = Scripted(tmp_path / "other", (1, fatal), (0, ""), (1, fatal), (0, ""))
    (run,) = compiled(tmp_path, ours, call(), architectures=("sm_90",))
    assert (run.refuses_command, run.exit_code) == (False, 1)


def test_flood_of_words_is_cut(tmp_path: Path) -> None:
    nvcc = Scripted(tmp_path, (0, "first\n" + "x" * 1_000_000 + "\nlast"))
    (run,) = compiled(tmp_path, nvcc, call(), architectures=("sm_90",))
    assert len(run.output) < 130_000
    assert run.output.startswith("first\n")
    assert run.output.endswith("\nlast")


def cubin(sections: dict[str, int]) -> bytes:
    """An ELF file of sections without content."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    at, entries = 1, [bytes(64)]
    for name, size in (*sections.items(), (".shstrtab", len(names))):
        entries.append(struct.pack("<IIQQQQ24x", at, 1, 0, 0, 64, size))
        at += len(name) + 1
    head = b"\x7fELF\x02\x01\x01" + bytes(33) + struct.pack("<Q", 64 + len(names)) + bytes(10)
    head += struct.pack("<HHH", 64, len(entries), len(entries) - 1)
    return head + names + b"".join(entries)


def test_constant_memory_of_a_kernel_is_its_file_s_and_its_own() -> None:
    sections = {".nv.constant3": 400, ".text.k": 512, ".nv.constant0.k": 540, ".text.l": 64, ".nv.constant0.l": 528}
    sections |= {".nv.constant2.l": 8, ".nv.constant4": 224}
    assert constant_bytes(cubin(sections)) == {"k": 940, "l": 936}


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02", b"\x7fELF\x02" + b"\xff" * 59, os.urandom(4096), b"MZ" * 99])
def test_what_is_no_cubin_has_no_constants(content: bytes) -> None:
    assert constant_bytes(content) == {}
