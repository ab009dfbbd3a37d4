"""From the line that a tool names to the line that the author wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.tools.arm_task import InlineSource
from harness.tools.sources import locate, write_sources

TEXT = "\n#include <x>\n__global__ void k() {\n    y[i] = 1;\n}\n"
SOURCE = InlineSource("extension", TEXT, lines_before=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "solution.py").write_text(f'import torch\n\nCUDA = """{TEXT}"""\n')
    (tmp_path / "kernel.cu").write_text("// first\n__global__ void k();\n")
    return tmp_path


def test_a_line_of_inline_cuda_is_found_in_the_python_file(folder: Path) -> None:
    assert locate("/tmp/worker/build/cuda.cu:7", [SOURCE], folder) == ("solution.py:6", "y[i] = 1;")


def test_without_implicit_headers_no_lines_come_before(folder: Path) -> None:
    source = InlineSource("extension", TEXT, lines_before=0)
    assert locate("cuda.cu:4", [source], folder) == ("solution.py:6", "y[i] = 1;")


def test_text_that_the_file_puts_together_is_named_by_its_own_line(folder: Path) -> None:
    source = InlineSource("extension", TEXT.replace("1", "2"), lines_before=3)
    assert locate("cuda.cu:7", [source], folder) == ("cuda_sources:4", "y[i] = 2;")


def test_with_two_extensions_nobody_knows_which_is_meant(folder: Path) -> None:
    assert locate("cuda.cu:7", [SOURCE, SOURCE], folder) == ("cuda.cu:7", None)


def test_a_line_of_a_file_beside_the_solution_is_shown(folder: Path) -> None:
    assert locate("/elsewhere/kernel.cu:2", [], folder) == ("kernel.cu:2", "__global__ void k();")


@pytest.mark.parametrize("place", ["cuda.cu:2", "cuda.cu:900", "kernel.cu:900", "nowhere.cu:1"])
def test_a_line_that_is_not_there_has_no_text(folder: Path, place: str) -> None:
    assert locate(place, [SOURCE], folder) == (place, None)


def test_sources_are_written_with_the_lines_that_torch_puts_before(tmp_path: Path) -> None:
    folder = write_sources([SOURCE], tmp_path / "sources")
    assert (folder / "0" / "cuda.cu").read_text().splitlines()[6] == "    y[i] = 1;"


def test_without_sources_the_folder_is_there_all_the_same(tmp_path: Path) -> None:
    assert write_sources([], tmp_path / "sources").is_dir()
