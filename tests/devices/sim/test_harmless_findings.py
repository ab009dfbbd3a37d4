"""Remarks of the simulator's that only the source's text tells from faults, held against the solution's files."""

from __future__ import annotations

import pytest

from harness.devices.sim.account import HarmlessFindings
from harness.sandbox.wire.device import Finding

CUDA = """__global__ void kernel(float* y, int rows) {
  __shared__ float tile[4][16];
  tile[0][threadIdx.x] = 1;
  int hash = threadIdx.x * 1103515245;
  y[threadIdx.x] = hash;
  float own[2][4];
  own[0][rows] = 1;
  int last = rows * 4096;
  if (threadIdx.x < last) y[0] = 1;
  mix = mix * 31 + size("\\t{{}}");
}
"""
FILES = {
    "kernel.cu": CUDA,
    "solution.py": f'import torch\n\nCUDA = r"""\n{CUDA}"""\n',
}
BY_FILE = pytest.mark.parametrize("name", FILES)


def settled(files: dict[str, str], kind: str, code: str | None) -> Finding:
    return HarmlessFindings(files).settled(Finding(kind, "seen", file="/cuda.cu", line=7, code=code))


@BY_FILE
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("array-row-overrun", "tile[0][threadIdx.x] = 1;"),
        ("signed-overflow", "int hash = threadIdx.x * 1103515245;"),
        ("signed-overflow", 'mix = mix * 31 + size("\\t{}");'),
    ],
)
def test_a_remark_stands_where_the_files_say_the_same(name: str, kind: str, code: str) -> None:
    assert settled({name: FILES[name]}, kind, code).kind == kind


@BY_FILE
@pytest.mark.parametrize(
    ("kind", "code", "fault"),
    [
        ("array-row-overrun", "own[0][rows] = 1;", "array-index-out-of-bounds"),
        ("signed-overflow", "int last = rows * 4096;", "index-overflow"),
    ],
)
def test_a_fault_under_a_harmless_name_is_the_fault(name: str, kind: str, code: str, fault: str) -> None:
    found = settled({name: FILES[name]}, kind, code)
    assert (found.kind, found.detail) == (fault, "seen (by the solution's files it is no remark)")


@pytest.mark.parametrize("code", ["hash *= 31;", "", None])
def test_a_remark_in_a_line_that_nobody_knows_is_the_fault(code: str | None) -> None:
    found = settled(FILES, "signed-overflow", code)
    assert (found.kind, found.detail) == ("index-overflow", "seen (its line isn't in the solution's files)")


def test_a_line_that_stands_twice_is_a_remark_where_both_are() -> None:
    row, own = "__shared__ float t[2][2];\nt[0][i] = 1;\n", "float t[2][2];\nt[0][i] = 1;\n"
    kinds = [
        settled({"a.cu": a, "b.cu": b}, "array-row-overrun", "t[0][i] = 1;").kind for a, b in ((row, row), (row, own))
    ]
    assert kinds == ["array-row-overrun", "array-index-out-of-bounds"]


def test_what_is_never_harmless_stays_as_it_is_told() -> None:
    for kind in ("index-overflow", "array-index-out-of-bounds", "same-value-write", "shared-race"):
        assert settled({}, kind, None).kind == kind


def test_who_remarks_without_end_is_believed_no_more() -> None:
    lines = [f"h{number} = x * {number};" for number in range(80)]
    found = tuple(Finding("signed-overflow", "seen", line=1, code=line) for line in lines)
    harmless = HarmlessFindings({"a.cu": "\n".join(lines)})
    kinds = [harmless.settled(finding).kind for finding in found]
    assert kinds == ["signed-overflow"] * 64 + ["index-overflow"] * 16


@pytest.mark.parametrize(
    "line", ["int hash = key * {factor}u;", "int hash = key * {{ factor }}u;", "int hash = key * @A@u;"]
)
def test_a_line_that_python_completes_by_a_name_or_a_number_is_in_the_files(line: str) -> None:
    files = {"solution.py": f"CUDA = r'''\n{line}\nout[i] = hash;\n'''.format(factor=3)\n"}
    assert settled(files, "signed-overflow", "int hash = key * 2654435761u;").kind == "signed-overflow"
    assert settled(files, "signed-overflow", "int hash = key * rows[3] * 4u;").kind == "index-overflow"
