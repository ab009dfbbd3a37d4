"""Colours of sources."""

from __future__ import annotations

import re
from html import unescape

import pytest

from harness.reports.leaderboard.highlight import coloured
from tests.reports.leaderboard.samples import HOSTILE, SOURCE


def painted(name: str, text: str) -> set[tuple[str, str]]:
    """Classes with the words that they colour."""
    found = re.findall(r'<span class="(\w+)">(.*?)</span>', coloured(name, text), re.DOTALL)
    return {(kind, unescape(words)) for kind, words in found}


def test_cuda_inside_a_python_string_is_coloured_as_cuda() -> None:
    assert {
        *{("k", "__global__"), ("c", "// One thread, one value."), ("kt", "float"), ("k", "import"), ("s", '"relu"')}
    } < painted("solution.py", SOURCE)


def test_a_plain_string_stays_a_string() -> None:
    assert painted("a.py", "x = 'for if while'\n") == {("s", "'for if while'")}


@pytest.mark.parametrize(
    "text",
    [
        SOURCE,
        'x = """__global__ void f(',
        "x = '__global__",
        'r"""__global__"""',
        'f"""__global__ {x} void"""',
        "'🙂' '__global__ 🙂'\n",
        "'__global__''__device__'",
        HOSTILE,
        "<script>alert(1)</script> '</code>' // <img>",
        "\n\n  \t\n",
        "",
    ],
)
@pytest.mark.parametrize("name", ["a.py", "a.cu", "a.yaml", "a.txt"])
def test_no_text_loses_a_character_or_becomes_markup(name: str, text: str) -> None:
    plain = re.sub(r'<span class="[a-z]+">|</span>', "", coloured(name, text))
    assert "<" not in plain
    assert unescape(plain) == text


def test_files_of_other_kinds_and_endless_ones_stay_plain() -> None:
    assert coloured("notes.txt", "int x;") == "int x;"
    assert "<span" not in coloured("a.py", "x = 1\n" * 100_000)


def test_cuda_files_are_cuda() -> None:
    assert ("k", "__global__") in painted("kernel.cuh", "__global__ void f();")
