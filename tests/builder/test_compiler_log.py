"""Reading compilers, on excerpts as nvcc, g++, the linker and ptxas write them."""

from __future__ import annotations

import shutil

import pytest

from harness.builder import compiler_log
from harness.builder.compiler_log import compiler_errors, kernel_resources
from harness.model.build import KernelResources

NVCC = """\
[1/3] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -c /cache/staging/ab12/cuda.cu -o cuda.cuda.o
FAILED: [code=1] cuda.cuda.o
/usr/local/cuda/bin/nvcc --generate-dependencies-with-compile -c /cache/staging/ab12/cuda.cu -o cuda.cuda.o
/cache/staging/ab12/cuda.cu(12): warning #177-D: variable "unused" was declared but never referenced
      int unused;
          ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

/cache/staging/ab12/cuda.cu(14): error: identifier "widht" is undefined
      if (i < widht) y[i] = x[i];
              ^

/cache/staging/ab12/cuda.cu(15): error: expected a ";"
  }
  ^

2 errors detected in the compilation of "/cache/staging/ab12/cuda.cu".
ninja: build stopped: subcommand failed.
"""

GCC = """\
[1/2] c++ -MMD -MF main.o.d -c /cache/staging/ab12/main.cpp -o main.o
/cache/staging/ab12/main.cpp: In function ‘void pybind11_init_relu(pybind11::module_&)’:
/cache/staging/ab12/main.cpp:5:45: error: ‘relu_forward’ was not declared in this scope
    5 | m.def("relu_forward", torch::wrap_pybind_function(relu_forward), "relu_forward");
      |                                                   ^~~~~~~~~~~~
ninja: build stopped: subcommand failed.
"""

MISSING_HEADER = """\
/cache/staging/ab12/main.cpp:2:10: fatal error: cuda_runtime.h: No such file or directory
    2 | #include <cuda_runtime.h>
      |          ^~~~~~~~~~~~~~~~
compilation terminated.
"""

LINKER = """\
[3/3] c++ main.o cuda.cuda.o -shared -L/usr/local/cuda/lib64 -lcudart -o relu.so
FAILED: relu.so
/usr/bin/ld: main.o: in function `pybind11_init_relu':
main.cpp:(.text+0x3f): undefined reference to `relu_forward(at::Tensor)'
collect2: error: ld returned 1 exit status
ninja: build stopped: subcommand failed.
"""

PTXAS_ERROR = """\
FAILED: cuda.cuda.o
ptxas error   : Entry function '_Z4tilePf' uses too much shared data (0x14000 bytes, 0xc000 max)
ninja: build stopped: subcommand failed.
"""

PTXAS_INLINE = """\
FAILED: cuda.cuda.o
ptxas /tmp/tmpxft_00001f2c_00000000-6_cuda.ptx, line 41; error   : Not a name of any known instruction: 'ld.globl'
ptxas fatal   : Ptx assembly aborted due to errors
ninja: build stopped: subcommand failed.
"""

PTXAS_VERBOSE = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'pool_rows' for 'sm_90'
ptxas info    : Function properties for pool_rows
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers, 380 bytes cmem[0]
ptxas info    : Compile time = 2.222 ms
ptxas info    : Compiling entry function 'conv_tile' for 'sm_90'
ptxas info    : Function properties for conv_tile
    176 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 49152 bytes smem, 400 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compiling entry function 'conv_tile' for 'sm_80'
ptxas info    : Used 64 registers, 4096 bytes smem, 400 bytes cmem[0]
"""


def test_nvcc_s_errors_are_shown_with_their_lines_and_without_folders() -> None:
    assert compiler_errors(NVCC) == (
        'cuda.cu(14): error: identifier "widht" is undefined\n'
        "      if (i < widht) y[i] = x[i];\n"
        "              ^\n"
        'cuda.cu(15): error: expected a ";"\n'
        "  }\n"
        "  ^"
    )


def test_gcc_s_errors_are_shown_with_their_lines_and_without_folders() -> None:
    assert compiler_errors(GCC) == (
        "main.cpp:5:45: error: ‘relu_forward’ was not declared in this scope\n"
        '    5 | m.def("relu_forward", torch::wrap_pybind_function(relu_forward), "relu_forward");\n'
        "      |                                                   ^~~~~~~~~~~~"
    )


def test_a_fatal_error_is_an_error() -> None:
    assert compiler_errors(MISSING_HEADER).splitlines()[0] == (
        "main.cpp:2:10: fatal error: cuda_runtime.h: No such file or directory"
    )


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (LINKER, "main.cpp:(.text+0x3f): undefined reference to `relu_forward(at::Tensor)'"),
        (
            PTXAS_ERROR,
            "ptxas error   : Entry function '_Z4tilePf' uses too much shared data (0x14000 bytes, 0xc000 max)",
        ),
        (PTXAS_INLINE, "line 41; error   : Not a name of any known instruction: 'ld.globl'"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_30'\n", "nvcc fatal   : Unsupported gpu architecture"),
        ("FAILED: cuda.o\n/bin/sh: 1: nvcc: not found\n[2/3] g++ -c main.cpp\n", "/bin/sh: 1: nvcc: not found"),
    ],
    ids=["linker", "ptxas", "inline ptx", "nvcc", "shell"],
)
def test_other_tools_errors_are_shown(log: str, line: str) -> None:
    assert line in compiler_errors(log)


def test_what_is_no_error_is_left_out() -> None:
    assert "ninja" not in compiler_errors(LINKER)
    assert "warning" not in compiler_errors(NVCC)


def test_a_folder_with_a_space_in_its_name_hides_no_error() -> None:
    assert compiler_errors(NVCC.replace("/cache/staging", "/home/me/my kernels")) == compiler_errors(NVCC)


def test_a_flood_of_errors_is_cut_and_counted() -> None:
    log = "".join(f"/b/cuda.cu({n}): error: bad {n}\n" for n in range(11))
    assert compiler_errors(log).splitlines() == [
        *(f"cuda.cu({n}): error: bad {n}" for n in range(8)),
        "… and 3 more errors",
    ]


def test_the_end_of_an_unknown_log_is_shown() -> None:
    log = "\n".join(f"line {n}" for n in range(40))
    assert compiler_errors(log) == "\n".join(f"line {n}" for n in range(25, 40))


def test_an_empty_log_has_no_errors() -> None:
    assert compiler_errors("") == ""


def test_resources_are_read_per_kernel_and_architecture() -> None:
    assert kernel_resources(PTXAS_VERBOSE) == (
        KernelResources("pool_rows", "sm_90", 12, 0, 0, 0, 0, 380),
        KernelResources("conv_tile", "sm_90", 255, 49152, 24, 40, 176, 408),
        KernelResources("conv_tile", "sm_80", 64, 4096, 0, 0, 0, 400),
    )


def test_constant_memory_that_ptxas_does_not_print_is_taken_from_elsewhere() -> None:
    log = PTXAS_VERBOSE.replace(", 380 bytes cmem[0]", "")
    found = kernel_resources(log, {"pool_rows": 540, "conv_tile": 9})
    assert [kernel.constant_bytes for kernel in found] == [540, 408, 400]


def test_a_log_without_kernels_has_no_resources() -> None:
    assert kernel_resources(GCC) == ()


MANGLED = PTXAS_VERBOSE.replace("pool_rows", "_Z9pool_rowsPKfPfi")


def test_mangled_names_stay_where_there_is_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_log.shutil, "which", lambda name: None)
    assert kernel_resources(MANGLED)[0].kernel == "_Z9pool_rowsPKfPfi"


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="needs c++filt")
def test_names_are_made_readable_where_there_is_a_tool() -> None:
    assert kernel_resources(MANGLED)[0].kernel == "pool_rows(float const*, float*, int)"
