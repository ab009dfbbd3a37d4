"""From the line that a tool names to the line that the author wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.tools.arm_task import InlineSource
from harness.tools.profiling import write_sources
from harness.tools.sanitizing import locate

TEXT = "\n#include <x>\n__global__ void k() {\n    y[i] = 1;\n}\n"
SOURCE = InlineSource(TEXT, lines_before=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "solution.py").write_text(f'import torch\n\nCUDA = """{TEXT}"""\n')
    (tmp_path / "kernel.cu").write_text("// first\n__global__ void k();\n")
    return tmp_path


@pytest.mark.parametrize(
    ("place", "sources", "found"),
    [
        ("/tmp/worker/build/cuda.cu:7", [SOURCE], ("solution.py:6", "y[i] = 1;")),
        ("cuda.cu:4", [replace(SOURCE, lines_before=0)], ("solution.py:6", "y[i] = 1;")),  # no implicit headers
        ("cuda.cu:7", [replace(SOURCE, text=TEXT.replace("1", "2"))], ("cuda_sources:4", "y[i] = 2;")),  # put together
        ("cuda.cu:7", [SOURCE, SOURCE], ("cuda.cu:7", None)),  # nobody knows which is meant
        ("/elsewhere/kernel.cu:2", [], ("kernel.cu:2", "__global__ void k();")),
        *((place, [SOURCE], (place, None)) for place in ("cuda.cu:2", "cuda.cu:900", "kernel.cu:900", "nowhere.cu:1")),
    ],
)
def test_a_line_is_found_where_its_author_wrote_it(
    folder: Path, place: str, sources: list[InlineSource], found: tuple[str, str | None]
) -> None:
    assert locate(place, sources, folder) == found


def test_sources_are_written_with_the_lines_that_torch_puts_before(tmp_path: Path) -> None:
    folder = write_sources([SOURCE], tmp_path / "sources")
    assert (folder / "0" / "cuda.cu").read_text().splitlines()[6] == "    y[i] = 1;"


def test_without_sources_the_folder_is_there_all_the_same(tmp_path: Path) -> None:
    assert write_sources([], tmp_path / "sources").is_dir()
