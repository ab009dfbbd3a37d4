"""The nearest valid word for a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_ALSO_CALLED = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16"}


def did_you_mean(word: str, valid: Iterable[str], otherwise: str | None = None) -> str:
    """' Did you mean …?' where a valid word is near, else `otherwise`: by default the list of valid words, '' where
    there is none."""
    words = sorted(valid)
    if (name := _ALSO_CALLED.get(word)) in words:
        return f" Did you mean '{name}'?"
    if near := difflib.get_close_matches(word, words, n=1, cutoff=0.6):
        return f" Did you mean '{near[0]}'?"
    if otherwise is not None:
        return otherwise
    return f" Valid: {', '.join(words)}." if words else ""
