"""The next step for an author: known causes first."""

from __future__ import annotations

import pytest

from harness.model.verdict import Verdict
from harness.sandbox.outcome import advice_for
from tests.builder.test_compiler_log import GCC, MISSING_HEADER, NVCC

GENERAL = "mend the first of the compiler's errors above"


@pytest.mark.parametrize(
    ("verdict", "text", "words"),
    [
        (
            Verdict.LOAD_ERROR,
            "TypeError on import of solution.py: load_inline() missing 1 required positional argument: 'cpp_sources'",
            "pass C++ declarations of the host functions as cpp_sources",
        ),
        (Verdict.COMPILE_ERROR, MISSING_HEADER, "CUDA code was passed as cpp_sources"),
        (
            Verdict.COMPILE_ERROR,
            "main.cpp:3:1: error: ‘__global__’ does not name a type",
            "CUDA code was passed as cpp_sources",
        ),
        (
            Verdict.COMPILE_ERROR,
            'cuda.cu(20): error: no suitable conversion function from "const at::DeprecatedTypeProperties" to …',
            "write x.scalar_type() instead of x.type()",
        ),
        (
            Verdict.COMPILE_ERROR,
            'cuda.cu(5): error: identifier "C10_CUDA_KERNEL_LAUNCH_CHECK" is undefined',
            "#include <ATen/cuda/CUDAContext.h>",
        ),
        (
            Verdict.COMPILE_ERROR,
            "cuda.cu:5: ‘getCurrentCUDAStream’ is not a member of ‘at::cuda’",
            "#include <ATen/cuda/CUDAContext.h>",
        ),
        (Verdict.COMPILE_ERROR, GCC, "declare every bound function in cpp_sources"),
        (Verdict.COMPILE_ERROR, NVCC, "declare the name, or pass it to the function"),
        (
            Verdict.COMPILE_ERROR,
            'cuda.cu(5): error: calling a __host__ function("f") from a __device__ function("g") is not allowed\n'
            'cuda.cu(5): error: identifier "f" is undefined in device code',
            "mark the function __device__",
        ),
        (
            Verdict.COMPILE_ERROR,
            "cuda.cu(5): error: __host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag",
            "extra_cuda_cflags=['--extended-lambda']",
        ),
        (
            Verdict.RUNTIME_ERROR,
            "launch-error in tile: 65536 bytes of dynamic shared memory are above the limit of 49152",
            "above 48 KiB a kernel must opt in",
        ),
        (
            Verdict.MEMORY_ERROR,
            "RuntimeError in forward(): CUDA error: an illegal memory access was encountered",
            "at large shapes a 32-bit index overflows",
        ),
        (Verdict.MEMORY_ERROR, "illegal-address in relu at line 7: 4 bytes past the end", "compute offsets in int64_t"),
        (Verdict.LOAD_ERROR, "ModuleNotFoundError on import of solution.py: No module named 'numba'", "pip install"),
        (
            Verdict.LOAD_ERROR,
            "AttributeError on import: solution.py defines no class 'ModelNew'",
            "name the module's class ModelNew",
        ),
        (
            Verdict.RUNTIME_ERROR,
            "TypeError in forward(): ModelNew.forward() missing 1 required positional argument: 'y'",
            "what get_inputs() returns",
        ),
        (
            Verdict.LOAD_ERROR,
            "TypeError in ModelNew(*init_inputs): ModelNew.__init__() takes 1 positional argument but 3 were given",
            "what get_init_inputs() returns",
        ),
        (
            Verdict.RUNTIME_ERROR,
            "OutOfResources in forward(): out of resource: shared memory, Required: 1049600, Hardware limit: 232448.",
            "num_stages",
        ),
        (Verdict.RUNTIME_ERROR, "AssertionError in forward(): use bf16 for tensor cores", "take the problem's inputs"),
        (
            Verdict.COMPILE_ERROR,
            "a Triton kernel doesn't compile: solution.py:4: program_id axis must be 0, 1, or 2 but got 3, at: pid_w",
            "three dimensions",
        ),
        (
            Verdict.COMPILE_ERROR,
            "a Triton kernel doesn't compile: solution.py:4: create_reduce(): incompatible function arguments, at: y",
            "tl.maximum",
        ),
        (
            Verdict.COMPILE_ERROR,
            "a Triton kernel doesn't compile: solution.py:4: Unsupported ptr type <['256'], int64> in `tl.load`, at: x",
            "x.data_ptr()",
        ),
        (
            Verdict.WRONG_VALUES,
            "1 of 4 values (25.00%) are outside the tolerance; sums in float16 explain it",
            "keep sums",
        ),
        (Verdict.CRASHED, "the process ended by itself with exit code 0", "'harness show PROBLEM SOLUTION'"),
        (Verdict.COMPILE_ERROR, "cuda.cu(3): error: expected a declaration", GENERAL),
        (Verdict.TIMEOUT, "no answer within 2 s", "look for an endless loop"),
        (Verdict.HARNESS_ERROR, "", "'harness doctor'"),
        (Verdict.HARNESS_ERROR, "OSError: [Errno 28] No space left on device", "set TMPDIR"),
        (Verdict.INVALID_PROBLEM, "FileNotFoundError: [Errno 2] No such file", "mend the problem's files"),
    ],
)
def test_a_known_cause_has_its_remedy(verdict: Verdict, text: str, words: str) -> None:
    assert words in advice_for(verdict, text)


def test_a_path_is_no_cause() -> None:
    """'invalid argument' has many; a folder called shared_tile further down says nothing about shared memory."""
    text = 'RuntimeError in forward(): CUDA error: invalid argument\nFile "solutions/maxpool2d/shared_tile/solution.py"'
    assert "48 KiB" not in advice_for(Verdict.RUNTIME_ERROR, text)


def test_a_gap_of_the_simulator_is_nothing_for_the_author_to_declare() -> None:
    text = "extension 'x' can't be simulated: cuda.cu:57: ‘cudaMemPool_t’ was not declared in this scope"
    assert "--backend cuda" in advice_for(Verdict.UNSUPPORTED, text)


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if not verdict.passed])
def test_every_failure_has_a_next_step_of_its_own(verdict: Verdict) -> None:
    assert advice_for(verdict, "") != "see the record"


def test_the_first_of_several_errors_is_the_one_to_mend() -> None:
    missing, undefined = '(5): error: expected a ";"', '(6): error: identifier "x" is undefined'
    assert "semicolon" in advice_for(Verdict.COMPILE_ERROR, f"{missing}\n{undefined}")
    assert "declare" in advice_for(Verdict.COMPILE_ERROR, f"{undefined}\n{missing}")
