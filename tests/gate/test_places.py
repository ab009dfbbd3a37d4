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


AT_6 = "solution.py:6: {}\n    if (i < n) y[i] = x[i];\n"
AT_7 = "solution.py:7: {}\n      y[0] = C_out;\n             ^\n"
SIMULATORS = "expected ‘,’ or ‘;’ before ‘if’"
TRACEBACK = """Traceback (most recent call last):
  File "/x/harness/worker/arm.py", line 89, in take_turn
  File "/x/solutions/maxpool2d/tiled/solution.py", line 13, in forward
  File "/x/solutions/maxpool2d/tiled/solution.py", line 2, in helper
  File "/x/torch/nn/modules/module.py", line 1778, in _call
ValueError: no"""
FAULT = "illegal-address in {}, block [0, 0, 0], thread [0, 0, 0]: 0x7ff2 is in no allocation"
BEYOND = '  File "/x/solution.py", line 999999, in forward'


@pytest.mark.parametrize(
    ("reason", "details", "found"),
    [
        ("x", AT_7.format("error: 'C_out' is undefined"), [(7, "'C_out' is undefined")]),
        (f"it fails: solution.py:6: {SIMULATORS}", AT_6.format(SIMULATORS), [(6, SIMULATORS)]),
        ("x", AT_7.format("error: a") + AT_6.format("error: b"), [(7, "a"), (6, "b")]),
        ("x", "cuda.cu(3): error: a\n}", [(1, "")]),  # a line of a generated file is not guessed
        ("raised", TRACEBACK, [(2, "")]),
        (FAULT.format("scale at line 10"), "", [(4, "")]),
        (FAULT.format("pooled at line 10"), "", [(11, "")]),
        (FAULT.format("pooled at solution.py:6"), TRACEBACK, [(6, "")]),
        *((reason, "", [(1, "")]) for reason in ("wrong", "in nothing at line 3", "", f"cuda.cu:{'9' * 20}: x")),
        ("x", BEYOND, [(13, "")]),
    ],
)
def test_a_line_of_the_solution_is_found(reason: str, details: str, found: list[tuple[int, str]]) -> None:
    assert places(reason, details) == [("solution.py", *one) for one in found]


@pytest.mark.parametrize(
    ("place", "line"),
    [("/home/u/solutions/maxpool2d/tiled/kernel.cu(3)", 3), ("kernel.cu(999)", 3), ("kernel.cu(0)", 1)],
)
def test_a_file_of_the_solution_is_named_with_its_own_line(place: str, line: int) -> None:
    assert places("x", f"{place}: error: a", kernel_cu="1\n2\n3\n") == [("kernel.cu", line, "a")]


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


@pytest.mark.parametrize("piece", ["in a<", "\n", 'File "', "in a", " ", "a.cu(1): error: b\n  c\n"])
def test_the_work_grows_with_the_text_and_not_with_its_square(piece: str) -> None:
    """A hundred thousand pieces took the old patterns minutes; time is not measured, a hang would be seen."""
    assert places("x", piece * 100_000) == [("solution.py", 1, "")]
