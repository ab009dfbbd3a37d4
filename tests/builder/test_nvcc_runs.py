"""When nvcc says that a source is wrong, and when only that this machine cannot tell. As CUDA 13.0 words it."""

from __future__ import annotations

import pytest

from harness.builder.compiler_log import what_follows
from harness.sandbox.wire.messages import NvccRun

CU = "/harness-worker/scratch/nvcc/0/cuda.cu"
TORCH = "/venv/lib/torch/include"


def run(output: str, code: int = 1, **changes: bool) -> NvccRun:
    return NvccRun("sm_90", code, 9.5, output, **changes)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            f'{CU}(12): error: calling a __host__ function("f") from a __global__ function("k") is not allowed\n',
            'cuda.cu(12): error: calling a __host__ function("f") from a __global__ function("k") is not allowed',
        ),
        (
            f'{CU}(7): warning #177-D: variable "x" was declared but never referenced\n\n'
            f'{CU}(9): error: identifier "C_out" is undefined\n    n * C_out\n        ^\n',
            'cuda.cu(9): error: identifier "C_out" is undefined\n    n * C_out\n        ^',
        ),
        (
            "/harness-worker/files/solutions/p/s/kernel.cuh(3): error: expected a declaration\n",
            "kernel.cuh(3): error: expected a declaration",
        ),
        (
            f"{TORCH}/ATen/core/TensorAccessor.h(40): error: static assertion failed\n"
            f'          detected during instantiation of "f" at line 9 of {CU}\n',
            "TensorAccessor.h(40): error: static assertion failed\n"
            '          detected during instantiation of "f" at line 9 of scratch/nvcc/0/cuda.cu',
        ),
        (
            "ptxas error   : Entry function 'k' uses too much shared data (0x1c000 bytes, 0xc000 max)\n",
            "ptxas error   : Entry function 'k' uses too much shared data (0x1c000 bytes, 0xc000 max)",
        ),
        (
            "ptxas fatal   : Unresolved extern function '_Z6helperi'\n",
            "ptxas fatal   : Unresolved extern function '_Z6helperi'",
        ),
        (f'{CU}:3:2: error: #error "needs a newer GPU"\n', 'cuda.cu:3:2: error: #error "needs a newer GPU"'),
    ],
)
def test_error_of_the_solution_is_a_refusal(output: str, words: str) -> None:
    assert what_follows([run("", code=0), run(output)]) == ("refused", words)


@pytest.mark.parametrize(
    "output",
    [
        f"{CU}:3:10: fatal error: cublasXt.h: No such file or directory\n",
        f'{CU}(9): error: identifier "cublasSgemm" is undefined\n',
        f'{TORCH}/ATen/cuda/CUDASparse.h(20): error: identifier "cusparseSpMatDescr_t" is undefined\n',
        f'{TORCH}/ATen/cuda/CUDABlas.h(20): error: name followed by "::" must be a class or namespace name\n',
        "/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version!\n",
        "nvcc fatal   : Unsupported gpu architecture 'compute_70'\n",
        "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\n",
        "ptxas fatal   : Memory allocation failure\n",
        "nvcc fatal   : Could not open output file '/tmp/tmpxft_00000a'\n",
        "",
    ],
)
def test_error_that_may_be_of_this_machine_accuses_nobody(output: str) -> None:
    outcome, words = what_follows([run(output)])
    assert outcome == "unchecked"
    assert words


def test_later_errors_may_follow_from_one_of_a_header() -> None:
    output = f'{TORCH}/ATen/cuda/X.h(2): error: bad\n\n{CU}(9): error: identifier "X" is undefined\n'
    _, words = what_follows([run(output)])
    assert "in a header" in words
    assert words.endswith("X.h:2: bad")


def test_option_that_nvcc_refuses_as_the_build_gave_it_is_the_solution_s() -> None:
    fatal = "nvcc fatal   : Unknown option '--fast'"
    assert what_follows([run(fatal, refuses_command=True)])[1] == fatal
    assert what_follows([run(fatal)])[0] == "unchecked"


def test_all_runs_without_an_error_are_an_acceptance_and_none_is_not() -> None:
    assert what_follows([run("", code=0), run("ptxas info", code=0)])[0] == "accepted"
    assert what_follows([])[0] == "unchecked"
