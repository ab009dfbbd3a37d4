"""CUDA text inside of a Python file: tools name lines of a file that torch wrote for the build and that is gone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.tools.arm_task import InlineSource

_OF_TORCH = "cuda.cu"
"""The name that load_inline() gives it."""


def write_sources(sources: Sequence[InlineSource], folder: Path) -> Path:
    """The files as torch wrote them, for Nsight Compute to put into its report; `folder`, made."""
    for number, source in enumerate(sources):
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / _OF_TORCH).write_text("\n" * source.lines_before + source.text, encoding="utf-8", errors="replace")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def locate(place: str, sources: Sequence[InlineSource], solution: Path | None) -> tuple[str, str | None]:
    """The line that the author wrote, for one that a tool names ('/any/where/cuda.cu:12'): 'solution.py:31', and its
    text, which is None where it isn't at hand. `solution` is its folder.

    Where several extensions have such a file nobody can tell which one is meant.
    """
    path, _, digits = place.rpartition(":")
    name, line = Path(path).name, int(digits)
    if name == _OF_TORCH and len(sources) == 1:
        (source,) = sources
        return _inside(source, line - source.lines_before, solution) or (f"{name}:{line}", None)
    file = solution / name if solution else None
    return f"{name}:{line}", _line(file.read_text(errors="replace"), line) if file and file.is_file() else None


def _inside(source: InlineSource, line: int, solution: Path | None) -> tuple[str, str] | None:
    """The line of solution.py where the text stands there as it is, else of the text."""
    text = _line(source.text, line)
    if text is None:
        return None
    file = solution / "solution.py" if solution else None
    whole = file.read_text(encoding="utf-8", errors="replace") if file and file.is_file() else ""
    start = whole.find(source.text) if source.text.strip() else -1
    if start < 0:
        return f"cuda_sources:{line}", text
    return f"solution.py:{whole.count(chr(10), 0, start) + line}", text


def _line(text: str, line: int) -> str | None:
    lines = text.split("\n")
    return lines[line - 1].strip() if 0 < line <= len(lines) else None
