"""Building with the toolkit: sources that must not build, and whose fault each is said to be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils.cpp_extension import COMMON_NVCC_FLAGS

from harness.cudasim.compiler import find_torch
from harness.cudasim.diagnose import BuildDiagnosis, diagnose_build_log
from harness.cudasim.toolkit import Toolkit
from tests.wording import tells

pytestmark = pytest.mark.sim

ROOT = Path(__file__).parents[2]

LOAD_INLINE = """
import sys
from pathlib import Path
from harness.devices.sim.device import activate
from harness.cudasim.toolkit import Toolkit
activate(Toolkit(Path(sys.argv[1])))
from torch.utils.cpp_extension import load_inline
load_inline("refused", cpp_sources="void run();", cuda_sources=sys.argv[3], functions=["run"],
            build_directory=sys.argv[2])
"""


def compile_alone(toolkit: Toolkit, source: Path, text: str) -> BuildDiagnosis:
    run = run_compiler(toolkit, source, text)
    assert run.returncode != 0
    return diagnose_build_log(run.stdout + run.stderr)


def run_compiler(toolkit: Toolkit, source: Path, text: str) -> subprocess.CompletedProcess[str]:
    """As torch's ninja file calls a compiler, without the other half of the extension."""
    source.write_text(text)
    torch = find_torch()
    flags = ["-DTORCH_EXTENSION_NAME=x", "-DTORCH_API_INCLUDE_EXTENSION_H", torch.standard]
    compiler = toolkit.nvcc if source.suffix == ".cu" else toolkit.cxx
    if source.suffix == ".cu":
        flags += [*COMMON_NVCC_FLAGS, "--compiler-options", "-fPIC", "-gencode=arch=compute_90,code=sm_90"]
    else:
        flags += ["-fPIC"]
    command = [str(compiler), *flags, *torch.include_flags]
    command += ["-c", str(source), "-o", str(source.with_suffix(".o"))]
    return subprocess.run(command, cwd=source.parent, capture_output=True, text=True, timeout=300)


HALF_OPERATORS = """
#include <torch/extension.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void scale(__half* x, __half2* y, __nv_bfloat16* z) {
  __half two = 2.0f;
  x[0] = x[0] * two + __half(1.0f);
  if (x[0] < two) x[0] = float(x[0]) + 1.0f;
  y[0] = y[0] + y[0];
  z[0] = __nv_bfloat16(3.0f) * z[0];
}
void run() { scale<<<1, 1>>>(nullptr, nullptr, nullptr); }
"""
FLAGS = [
    f"-U__CUDA_NO_{what}__"
    for what in ("HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS", "BFLOAT16_CONVERSIONS")
]


def test_half_operators_come_with_the_usual_flags(toolkit: Toolkit, tmp_path: Path) -> None:
    """Nearly everyone adds these, since torch takes the operators away."""
    cuda_source = tmp_path / "cuda.cu"
    cuda_source.write_text(HALF_OPERATORS)
    torch = find_torch()
    command = [str(toolkit.nvcc), "-DTORCH_EXTENSION_NAME=x", "-DTORCH_API_INCLUDE_EXTENSION_H", torch.standard]
    command += [*COMMON_NVCC_FLAGS, *FLAGS, "--compiler-options", "-fPIC", *torch.include_flags]
    command += ["-c", str(cuda_source), "-o", str(cuda_source.with_suffix(".o")), "-Xcompiler", "-H"]
    run = subprocess.run(command, cwd=cuda_source.parent, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert f"! {toolkit.root}/headers/sim/prelude_slim.h.gch" in run.stderr, "the precompiled header doesn't fit"


def test_inline_ptx_is_unsupported(toolkit: Toolkit, tmp_path: Path) -> None:
    cuda = '__global__ void k() {\n  asm("nop;");\n}\nvoid run() { k<<<1, 1>>>(); }'
    run = subprocess.run(
        [sys.executable, "-c", LOAD_INLINE, str(toolkit.root), str(tmp_path), cuda],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode != 0
    diagnosis = diagnose_build_log(run.stderr)
    assert diagnosis.kind == "unsupported"
    assert tells(diagnosis.summary, "PTX", "line 5")


REACHED = [
    "#ifndef NEVER\n{use}\n#endif",
    "#if __CUDA_ARCH__ >= 900\n\n#else\nint no;\n#endif\n#if 1\n{use}\n#endif",
    "#define USE \\\n  {use}\nvoid f() {{ USE }}",
    "#define USE {use}\n#define ALL(...) __VA_ARGS__\nvoid f() {{ ALL(ALL(USE)) }}",
    "#define USE {use}\n#define WITH(a) US##a\nvoid f() {{ WITH(E) }}",
]
NOT_REACHED = [
    "#ifdef CUBLAS_API_H_\n{use}\n#endif",
    "#if __CUDA_ARCH__ >= 1000\n{use}\n#else\nint no;\n#endif",
    "#if __CUDA_ARCH__ >= 900\n#else\n{use}\n#endif",
    "#define USE \\\n  {use}\n#ifdef USE\nint yes;\n#endif",
    "#define USE {use}\n#define WITH(a) US##a",
]
USES = ["cublasXtHandle_t handle;", 'asm volatile("tcgen05.wait::ld.sync.aligned;");', "using namespace thrust;"]


@pytest.mark.parametrize(("where", "use"), list(zip(REACHED, USES + USES, strict=False)))
def test_what_the_preprocessor_reaches_is_unsupported(toolkit: Toolkit, tmp_path: Path, where: str, use: str) -> None:
    text = where.format(use=use)
    line = next(number for number, one in enumerate(text.split("\n"), 1) if use in one)
    diagnosis = compile_alone(toolkit, tmp_path / "cuda.cu", text)
    assert diagnosis.kind == "unsupported"
    assert diagnosis.summary.endswith(f"at line {line}")
    assert tells(diagnosis.summary, {"c": "cuBLAS", "a": "PTX", "u": "Thrust"}[use[0]])


@pytest.mark.parametrize(("where", "use"), list(zip(NOT_REACHED, USES + USES, strict=False)))
def test_what_the_preprocessor_leaves_out_is_no_gap(toolkit: Toolkit, tmp_path: Path, where: str, use: str) -> None:
    run = run_compiler(toolkit, tmp_path / "cuda.cu", where.format(use=use))
    assert run.returncode == 0, run.stderr


def test_mistake_in_a_kernel_is_a_compile_error(toolkit: Toolkit, tmp_path: Path) -> None:
    text = "__global__ void k(float* x) {\n  x[nowhere] = 1;\n}\n"
    diagnosis = compile_alone(toolkit, tmp_path / "cuda.cu", text)
    assert diagnosis.kind == "compile_error"
    assert diagnosis.summary == "cuda.cu:2: ‘nowhere’ was not declared in this scope\n    x[nowhere] = 1;"


def test_deprecated_dispatch_is_a_compile_error(toolkit: Toolkit, tmp_path: Path) -> None:
    text = (
        "#include <torch/extension.h>\n"
        'void run(torch::Tensor x) {\n  AT_DISPATCH_FLOATING_TYPES(x.type(), "run", [&] { scalar_t y = 0; });\n}\n'
    )
    diagnosis = compile_alone(toolkit, tmp_path / "cuda.cu", text)
    assert diagnosis.kind == "compile_error"
    assert "at::DeprecatedTypeProperties" in diagnosis.summary


def test_too_much_static_shared_memory_is_a_compile_error(toolkit: Toolkit, tmp_path: Path) -> None:
    text = "__global__ void k(float* x) {\n  __shared__ float s[12289];\n  x[0] = s[0];\n}\n"
    diagnosis = compile_alone(toolkit, tmp_path / "cuda.cu", text)
    assert diagnosis.kind == "compile_error"
    assert "shared data" in diagnosis.summary


@pytest.mark.parametrize("use", ["C10_CUDA_KERNEL_LAUNCH_CHECK()", "at::cuda::getCurrentCUDAStream()"])
def test_what_only_a_header_declares_needs_it(toolkit: Toolkit, tmp_path: Path, use: str) -> None:
    """torch/extension.h includes none of torch's headers for CUDA, so that nvcc refuses this."""
    text = f"#include <torch/extension.h>\nvoid run() {{\n  {use};\n}}\n"
    run = run_compiler(toolkit, tmp_path / "cuda.cu", "#include <ATen/cuda/CUDAContext.h>\n" + text)
    assert run.returncode == 0
    diagnosis = compile_alone(toolkit, tmp_path / "cuda.cu", text)
    assert diagnosis.kind == "compile_error"
    assert diagnosis.summary.startswith("cuda.cu:3:")


def test_cuda_name_that_we_lack_is_unsupported(toolkit: Toolkit, tmp_path: Path) -> None:
    text = "__global__ void k(int* x) {\n  *x = __vavgs2(x[1], x[2]);\n}\n"
    diagnosis = compile_alone(toolkit, tmp_path / "cuda.cu", text)
    assert diagnosis.kind == "unsupported"
    assert tells(diagnosis.summary, "cuda.cu:2:", "‘__vavgs2’", "not declared")


def test_cuda_code_in_cpp_sources_is_a_compile_error(toolkit: Toolkit, tmp_path: Path) -> None:
    text = "#include <torch/extension.h>\n#include <cuda_runtime.h>\n__global__ void k() {}\n"
    diagnosis = compile_alone(toolkit, tmp_path / "main.cpp", text)
    assert diagnosis.kind == "compile_error"
    assert tells(diagnosis.summary, "main.cpp:2:", "cuda_runtime.h", "No such file")


def test_missing_declaration_is_a_compile_error(toolkit: Toolkit, tmp_path: Path) -> None:
    text = '#include <torch/extension.h>\n\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\nm.def("run", run, "run");\n}\n'
    diagnosis = compile_alone(toolkit, tmp_path / "main.cpp", text)
    assert diagnosis.kind == "compile_error"
    assert tells(diagnosis.summary, "main.cpp:4:", "‘run’", "not declared")
