"""The languages of a solution's kernels, found in its files: nobody declares them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_MARKS = {
    "CUDA": re.compile(r"\b__global__\b"),
    "Triton": re.compile(r"^[ \t]*(?:import|from)[ \t]+triton\b", re.MULTILINE),
    "TileLang": re.compile(r"^[ \t]*(?:import|from)[ \t]+tilelang\b", re.MULTILINE),
    "CuTe DSL": re.compile(r"^[ \t]*(?:import|from)[ \t]+cutlass\b", re.MULTILINE),
}
_PROSE = (".md", ".rst", ".yaml", ".yml")


def languages_in(files: Mapping[str, str]) -> tuple[str, ...]:
    """Return the languages that these texts show, by name; none for a solution in torch's operators alone."""
    texts = [text for name, text in files.items() if not name.endswith(_PROSE)]
    return tuple(language for language, mark in _MARKS.items() if any(map(mark.search, texts)))
