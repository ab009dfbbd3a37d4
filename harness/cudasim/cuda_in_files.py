"""The CUDA in a solution's files, found without running anything of theirs.

A worker's word on what a source holds can be held against it. Every pattern reads a text once, whatever that holds.
Strings of Python's that stand side by side are one, with their escapes read, as the compiler gets them.
"""

from __future__ import annotations

import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from harness.cudasim.unsupported import constructs_in
from harness.python_text import literal_value

_PROSE = (".md", ".rst", ".yaml", ".yml")
_IS_CUDA = re.compile(r"\b__(global|device)__\b|\#[ ]{0,8}include\b")
_QUOTED = re.compile(r"""(?P<prefix>[A-Za-z]*)(?P<quotes>\"{3}|'{3}|"|')(?P<body>.*)(?P=quotes)""", re.DOTALL)
_BETWEEN = (tokenize.NL, tokenize.COMMENT)
_FORMATTED = tuple(getattr(tokenize, name, -1) for name in ("FSTRING_START", "FSTRING_END"))
"""These stand around a formatted string's tokens from Python 3.12 on; before, it is one token."""


def cuda_texts(files: Mapping[str, str]) -> list[str]:
    """Return a text per file: everything that Python has in quotes, the whole of other files."""
    named = {name: text for name, text in files.items() if PurePath(name).suffix not in _PROSE}
    return ["\n;\n".join(_strings(text)) if name.endswith(".py") else text for name, text in named.items()]


def beyond_simulator(files: Mapping[str, str]) -> set[str]:
    """Find the constructs in these files that the simulator refuses."""
    found = set[str]()
    for name, text in files.items():
        for piece in _strings(text) if name.endswith(".py") else [text]:
            if PurePath(name).suffix not in _PROSE and _IS_CUDA.search(piece):
                found |= constructs_in(piece)
    return found


def _strings(python: str) -> list[str]:
    """List the strings in their order; a formatted one counts with the text between its quotes."""
    found: list[str] = []
    follows = False
    for literal in _literals(python):
        if literal is not None and follows:
            found[-1] += _value(literal)
        elif literal is not None:
            found.append(_value(literal))
        follows = literal is not None
    return found


def _literals(python: str) -> Iterator[str | None]:
    """Yield each string as it is written, and None where something stands between two; stop where it isn't Python."""
    lines, starts = python.splitlines(keepends=True), list[tuple[int, int]]()
    try:
        for token in tokenize.generate_tokens(io.StringIO(python).readline):
            if token.type == _FORMATTED[0]:
                starts.append(token.start)
            if token.type == _FORMATTED[1]:
                start = starts.pop()
                if not starts:
                    yield _between(lines, start, token.end)
            elif not starts and token.type == tokenize.STRING:
                yield token.string
            elif not starts and token.type not in _BETWEEN:
                yield None
    except (tokenize.TokenError, SyntaxError, IndexError, RecursionError):
        return


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Cut out the text between two places as tokens give them: lines count from 1, columns from 0."""
    first, last = start[0] - 1, end[0] - 1
    if first == last:
        return lines[first][start[1] : end[1]]
    return "".join((lines[first][start[1] :], *lines[first + 1 : last], lines[last][: end[1]]))


def _value(literal: str) -> str:
    match = _QUOTED.fullmatch(literal)
    if match is None or "f" in match["prefix"].lower():
        return match["body"] if match else ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python doesn't know
            value = literal_value(literal)  # of a single string, which is no deeper than itself
    except (SyntaxError, ValueError):
        return match["body"]
    return value if isinstance(value, str) else ""
