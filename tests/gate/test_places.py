"""From what compilers and tracebacks say to a file and a line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.gate.places import places_of
from harness.model.evaluation import Failure
from tests.examples import failed

SOURCE = '''import torch
CUDA = """
#include <torch/extension.h>
__global__ void scale(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x
    if (i < n) y[i] = x[i];
    y[0] = C_out;
}
template <int K>
__global__ void
pooled(float* x) {}
"""
CALL = "scale(x)"
'''


def places(reason: str, details: str = "", **files: str) -> list[tuple[str, int, str]]:
    broken = failed("tiled", failure=Failure(reason, "mend it", details=details))
    sources = {"solution.py": SOURCE, **{name.replace("_cu", ".cu"): text for name, text in files.items()}}
    evaluation = replace(broken, solution=replace(broken.solution, files=sources))
    return [(p.file.removeprefix("solutions/maxpool2d/tiled/"), p.line, p.text) for p in places_of(evaluation)]


def test_a_compilers_error_in_the_solutions_own_line_is_found() -> None:
    details = 'solution.py:7: error: identifier "C_out" is undefined\n      y[0] = C_out;\n             ^'
    assert places("doesn't compile", details) == [("solution.py", 7, 'identifier "C_out" is undefined')]


def test_the_simulators_words_are_read_as_well() -> None:
    details = "solution.py:6: expected ‘,’ or ‘;’ before ‘if’\n    if (i < n) y[i] = x[i];\n"
    reason = "extension 'double' doesn't compile: solution.py:6: expected ‘,’ or ‘;’ before ‘if’"
    assert places(reason, details) == [("solution.py", 6, "expected ‘,’ or ‘;’ before ‘if’")]


def test_every_error_has_its_place() -> None:
    details = "solution.py:7: error: a\n y[0] = C_out;\nsolution.py:6: error: b\n if (i < n) y[i] = x[i];"
    assert [line for _, line, _ in places("doesn't compile", details)] == [7, 6]


def test_a_line_of_a_generated_file_is_not_guessed() -> None:
    assert places("x", "cuda.cu(3): error: a\n}") == [("solution.py", 1, "")]


def test_a_file_of_the_solution_is_named_with_its_own_line() -> None:
    details = "/home/u/solutions/maxpool2d/tiled/kernel.cu(3): error: a"
    assert places("doesn't compile", details, kernel_cu="1\n2\n3\n") == [("kernel.cu", 3, "a")]


def test_a_tracebacks_last_line_in_the_solution_counts() -> None:
    details = (
        'Traceback (most recent call last):\n  File "/x/harness/worker/arm.py", line 89, in take_turn\n'
        '  File "/x/solutions/maxpool2d/tiled/solution.py", line 13, in forward\n'
        '  File "/x/solutions/maxpool2d/tiled/solution.py", line 2, in helper\n'
        '  File "/x/torch/nn/modules/module.py", line 1778, in _call\nValueError: no'
    )
    assert places("raised", details) == [("solution.py", 2, "")]


@pytest.mark.parametrize(("kernel", "line"), [("scale", 4), ("pooled", 11)])
def test_a_fault_in_a_kernel_is_placed_at_its_definition(kernel: str, line: int) -> None:
    reason = f"illegal-address in {kernel} at line 10, block [0, 0, 0], thread [0, 0, 0]: 0x7ff2 is in no allocation"
    assert places(reason) == [("solution.py", line, "")]


def test_a_kernels_line_comes_before_that_and_before_a_traceback() -> None:
    reason = "illegal-address in pooled at solution.py:6, block [0, 0, 0], thread [0, 0, 0]: 0x7ff2 is in no allocation"
    details = '  File "/x/solutions/maxpool2d/tiled/solution.py", line 2, in forward\n'
    assert places(reason, details) == [("solution.py", 6, "")]


@pytest.mark.parametrize("reason", ["wrong", "in nothing at line 3", "", "cuda.cu:99999999999999999999: x"])
def test_what_names_no_place_is_placed_at_the_first_line(reason: str) -> None:
    assert places(reason) == [("solution.py", 1, "")]


def test_at_most_eight_places_are_named() -> None:
    details = "\n".join(f"kernel.cu({n}): error: e{n}" for n in range(1, 30))
    assert len(places("x", details, kernel_cu="x")) == 8


def test_a_record_without_sources_has_a_place() -> None:
    (place,) = places_of(failed("tiled"))
    assert (place.file, place.line) == ("solutions/maxpool2d/tiled/solution.py", 1)


@pytest.mark.parametrize(
    "words",
    [
        "/x/solution.py(" + "9" * 5000 + "): error: a",
        "/x/solution.py:" + "9" * 5000 + ": error: a",
        'File "/x/solution.py", line ' + "9" * 5000,
        "in scale at line " + "9" * 5000 + " ",
    ],
)
def test_a_number_of_five_thousand_digits_does_no_harm(words: str) -> None:
    assert places(words)[0][1] in (1, 4)


def test_a_line_behind_the_files_end_is_its_last() -> None:
    assert places("x", "kernel.cu(999999): error: a", kernel_cu="1\n2\n") == [("kernel.cu", 2, "a")]
    assert places("x", "kernel.cu(0): error: a", kernel_cu="1\n2\n") == [("kernel.cu", 1, "a")]
    assert places("x", '  File "/x/solution.py", line 999999, in forward') == [("solution.py", 13, "")]


@pytest.mark.parametrize("piece", ["in a<", "\n", 'File "', "in a", " ", "a.cu(1): error: b\n  c\n"])
def test_the_work_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    """A hundred thousand pieces took the old patterns minutes; time is not measured, a hang would be seen."""
    assert places("x", piece * 100_000) == [("solution.py", 1, "")]
