"""From what compilers and the simulator say of a generated file to the solution's own lines."""

from __future__ import annotations

import pytest

from harness.model.evaluation import Failure
from harness.model.own_lines import in_own_lines

SOURCE = '''import torch
CUDA = """
#include <torch/extension.h>
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x
    __syncthreads();
    if (i < n) y[i] = x[i];
    __syncthreads();
    y[0] = C_out;
}
"""
CPP = """
void f();
}
"""
'''


def said(reason: str, details: str | None = None, **files: str) -> tuple[str, str | None]:
    sources = {"solution.py": SOURCE, **{name.replace("_cu", ".cu"): text for name, text in files.items()}}
    found = in_own_lines(Failure(reason, "mend it", details=details), sources)
    assert found.next_step == "mend it"
    return found.reason, found.details


def test_the_line_that_nvcc_quotes() -> None:
    error = 'cuda.cu(11): error: identifier "C_out" is undefined'
    reason, details = said(f"it doesn't compile: {error}", f"{error}\n      y[0] = C_out;\n             ^")
    assert reason == 'it doesn\'t compile: solution.py:9: error: identifier "C_out" is undefined'
    assert details == 'solution.py:9: error: identifier "C_out" is undefined\n      y[0] = C_out;\n             ^'


def test_the_line_that_gcc_quotes() -> None:
    details = "main.cpp:8:10: error: expected ';'\n    8 |     if (i < n) y[i] = x[i];\n      |    ^~"
    assert said("x", details)[1] == (
        "solution.py:7: error: expected ';'\n    7 |     if (i < n) y[i] = x[i];\n      |    ^~"
    )


@pytest.mark.parametrize(("number", "own"), [(5, 6), (8, 6), (10, 8), (11, 8)])
def test_of_lines_that_read_alike_the_nearest_counts(number: int, own: int) -> None:
    """torch writes a few lines above the string."""
    assert said("x", f"cuda.cu({number}): error: a\n  __syncthreads();")[1] == (
        f"solution.py:{own}: error: a\n  __syncthreads();"
    )


def test_a_kernels_line_and_those_beside_it() -> None:
    reason = "shared-race in scale at line 6, block [0, 0, 0]: another thread reads it at line 3 (2 times)"
    assert said(reason, "    6 | if (i < n) y[i] = x[i];\nalso seen:\nx at line 99") == (
        "shared-race in scale at solution.py:7, block [0, 0, 0]: another thread reads it at solution.py:4 (2 times)",
        "    7 | if (i < n) y[i] = x[i];\nalso seen:\nx at line 99",
    )


def test_lines_of_two_strings_are_not_reckoned_from_each_other() -> None:
    details = "    6 | if (i < n) y[i] = x[i];\n    2 | void f();"
    assert said("at line 5", details) == ("at line 5", "    7 | if (i < n) y[i] = x[i];\n   13 | void f();")


@pytest.mark.parametrize(
    ("reason", "details"),
    [
        ("wrong", None),
        ("at line 3", None),
        ("cuda.cu(3): error: a", "cuda.cu(3): error: a\n  nobody_wrote_this();"),
        ("x", "kernel.cu(3): error: a\n  __syncthreads();"),
        ("x", "Half.h:3: error: a\n  y[0] = C_out;"),
        ("x", "cuda.cu(3): error: a\n\n"),
    ],
)
def test_what_quotes_no_line_of_the_solutions_stays(reason: str, details: str | None) -> None:
    assert said(reason, details, kernel_cu="1\n2\n3\n") == (reason, details)


@pytest.mark.parametrize("piece", ["cuda.cu(1): error: b\n  c\n", "at line 1 ", "    1 | x\n", "1" * 50, ": ", "a.b"])
def test_the_work_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    said(piece * 20_000, piece * 20_000)


def test_many_lines_that_read_alike_do_no_harm() -> None:
    said("x", "\n".join(f"{n} | x" for n in range(2_000)), kernel_cu="x\n" * 100_000)


def test_a_form_feed_ends_no_line() -> None:
    text = 'CUDA = """\n// \f one\nbad(x)\n"""\n'
    assert said("x", "cuda.cu(5): error: a\n  bad(x)", kernel_py=text)[1] == "kernel_py:3: error: a\n  bad(x)"


def test_lines_of_a_cuda_file_count_from_its_own_first() -> None:
    text = "".join("f(x);\n" if n in (4, 7) else f"// {n}\n" for n in range(1, 10))
    assert said("f in k at line 7", "    7 | f(x);", kernel_cu=text)[0] == "f in k at kernel.cu:7"


def test_a_line_that_nothing_quotes_is_found_where_all_kernels_stand_in_one_string() -> None:
    reason, details = said("inline PTX (asm) at line 11", "cuda.cu(11): error: expected a declaration")
    assert (reason, details) == ("inline PTX (asm) at solution.py:9", "solution.py:9: error: expected a declaration")


@pytest.mark.parametrize(
    ("reason", "files"),
    [
        ("inline PTX (asm) at line 11 of tile.cuh", {}),
        ("inline PTX (asm) at line 11", {"more_cu": "__global__ void f() {}"}),
    ],
)
def test_a_line_of_another_file_stays(reason: str, files: dict[str, str]) -> None:
    assert said(reason, **files) == (reason, None)


def test_of_two_strings_with_kernels_neither_is_meant() -> None:
    failure = Failure("inline PTX (asm) at line 11", "mend it")
    assert in_own_lines(failure, {"solution.py": SOURCE + SOURCE}) == failure
