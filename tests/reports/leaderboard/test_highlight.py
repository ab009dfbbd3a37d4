"""Colours of sources as runs."""

from __future__ import annotations

import re

import pytest

from harness.reports.leaderboard.html.highlight import runs
from tests.reports.leaderboard.samples import HOSTILE, SOURCE


def painted(name: str, text: str) -> list[tuple[str, str]]:
    """What the page's script makes of the runs: letter and piece."""
    units, at, pieces = text.encode("utf-16-le"), 0, []
    for letter, length in re.findall(r"([a-z.])(\d+)", runs(name, text)):
        pieces.append((letter, units[2 * at : 2 * (at + int(length))].decode("utf-16-le")))
        at += int(length)
    assert at * 2 == len(units)
    return pieces


def test_cuda_inside_a_python_string_is_coloured_as_cuda() -> None:
    pieces = painted("solution.py", SOURCE)
    assert ("k", "__global__") in pieces
    assert ("c", "// One thread, one value.\n") in pieces
    assert ("t", "float") in pieces
    assert ("k", "import") in pieces
    assert ("s", '"relu"') in pieces


def test_the_pieces_make_the_text() -> None:
    assert "".join(piece for _, piece in painted("solution.py", SOURCE)) == SOURCE


def test_a_plain_string_stays_a_string() -> None:
    assert painted("a.py", "x = 'for if while'\n") == [(".", "x = "), ("s", "'for if while'"), (".", "\n")]


@pytest.mark.parametrize(
    "text",
    [
        'x = """__global__ void f(',
        "x = '__global__",
        'r"""__global__"""',
        'f"""__global__ {x} void"""',
        "'🙂' '__global__ 🙂'\n",
        HOSTILE,
        "\n\n  \t\n",
        "",
    ],
)
@pytest.mark.parametrize("name", ["a.py", "a.cu", "a.yaml"])
def test_no_text_loses_a_character(name: str, text: str) -> None:
    assert "".join(piece for _, piece in painted(name, text)) == text


def test_files_of_other_kinds_and_endless_ones_stay_plain() -> None:
    assert runs("notes.txt", "int x;") == ""
    assert runs("a.py", "x = 1\n" * 100_000) == ""


def test_cuda_files_are_cuda() -> None:
    assert ("k", "__global__") in painted("kernel.cuh", "__global__ void f();")
