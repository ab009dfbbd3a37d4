"""Own lines: what compilers and the simulator say of a file that torch makes, said of the solution's own file.

torch writes the strings of solution.py into cuda.cu and main.cpp. A compiler quotes the line of source that it means,
and the simulator the line of a kernel: the same line in the solution's files is the place to look at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from harness.model.evaluation import Failure

# The text is a stranger's: numbers have few digits, and no pattern can look at a line again and again.
_ERROR = re.compile(
    r"(?P<place>(?P<file>[\w.+-]{1,100})(?:\((?P<nvcc>[0-9]{1,7})\)|:(?P<line>[0-9]{1,7})(?::[0-9]{1,7})?)): "
)
_QUOTE = re.compile(r"\s{0,9}([0-9]{1,7}) \| ?(.*)")
_AT_LINE = re.compile(r"\bat line ([0-9]{1,7})\b(?! of )")
_STRING = re.compile(r"(\"\"\"|''')(.*?)\1", re.DOTALL)
_MOST_ERRORS = 8
_MOST_QUOTES = 100
_MOST_ALIKE = 100
"""The lines that are kept of those that read alike: a stranger's file may have a hundred thousand."""
_QUOTES = ('"""', "'''")
_ABOVE = {"main.cpp": 1, "cuda.cu": 3}
"""The files that torch makes of strings, and the lines that it writes above the first."""

Place = tuple[str, int]
"""A file of the solution and a line, from 1."""


def in_own_lines(failure: Failure, files: Mapping[str, str]) -> Failure:
    """Name the solution's own lines where the failure's words quote them, or all kernels stand in one string; other
    words stay."""
    own = _OwnLines(files)
    lines = (failure.details or "").split("\n")
    named: dict[str, Place] = {}
    kernels = _only_kernels(files)
    for number, line in enumerate(lines):
        match = _ERROR.match(line) if len(named) < _MOST_ERRORS else None
        if match and match["file"] in _ABOVE and match["file"] not in own.names:
            quoted = re.sub(r"^\s{0,9}[0-9]{1,7} \|", "", "".join(lines[number + 1 : number + 2]))
            at = int(match["nvcc"] or match["line"])
            is_kernels = match["file"] == "cuda.cu"
            if place := own.place(quoted, at, _ABOVE[match["file"]]) or (is_kernels and kernels and kernels.place(at)):
                named[match["place"]] = place
    matches = islice(filter(None, map(_QUOTE.fullmatch, lines)), _MOST_QUOTES)
    quotes = [(int(match[1]), match[2]) for match in matches]
    places = {number: place for number, text in quotes if (place := own.place(text, number))}

    shift = _shift(places, files) if places else kernels

    def at_own_line(match: re.Match[str]) -> str:
        place = places.get(int(match[1])) or (shift and shift.place(int(match[1])))
        return f"at {place[0]}:{place[1]}" if place else match[0]

    def said(text: str) -> str:
        for generated, (file, line) in named.items():
            text = text.replace(f"{generated}: ", f"{file}:{line}: ")
        return _AT_LINE.sub(at_own_line, text)

    def quoted_anew(line: str) -> str:
        match = _QUOTE.fullmatch(line)
        place = places.get(int(match[1])) if match else None
        return f"{place[1]:>{len(match[1]) + line.index(match[1])}} | {match[2]}" if match and place else line

    details = None if failure.details is None else "\n".join(quoted_anew(said(line)) for line in lines)
    return replace(failure, reason=said(failure.reason), details=details)


class _OwnLines:
    def __init__(self, files: Mapping[str, str]) -> None:
        self.names = {name.rsplit("/", 1)[-1] for name in files}
        self._known: dict[str, list[tuple[Place, int]]] = {}
        for name, source in files.items():
            start = 0
            for number, line in enumerate(source.split("\n"), 1):
                alike = self._known.setdefault(line.strip(), [])
                if len(alike) < _MOST_ALIKE:
                    alike.append(((name, number), number - start))
                start = number - 1 if any(mark in line for mark in _QUOTES) else start

    def place(self, text: str, number: int, above: int = 3) -> Place | None:
        """The line with this text; of several the one that is as far from the start of its string as `number` says,
        with `above` lines before the string."""
        found = self._known.get(text.strip(), []) if text.strip() else []

        def off(one: tuple[Place, int]) -> int:
            (file, _), below = one
            return abs(below + (above if file.endswith(".py") else 0) - number)

        return min(found, key=off)[0] if found else None


class _Shift(NamedTuple):
    """A file, by how many lines its text stands below, and the first and last line of that text."""

    file: str
    below: int
    first: int
    last: int

    def place(self, number: int) -> Place | None:
        return (self.file, number + self.below) if self.first <= number + self.below <= self.last else None


def _shift(places: Mapping[int, Place], files: Mapping[str, str]) -> _Shift | None:
    """Tell where lines stand that aren't quoted, if those that are stand in one file, as far below as each other."""
    shifts = {(file, line - quoted) for quoted, (file, line) in places.items()}
    if len(shifts) != 1:
        return None
    ((file, below),) = shifts
    return _Shift(file, below, 1, files[file].count("\n") + 1)


def _only_kernels(files: Mapping[str, str]) -> _Shift | None:
    """Tell where the lines of cuda.cu stand, if a single string of a single file has kernels."""
    if any("__global__" in source for name, source in files.items() if not name.endswith(".py")):
        return None
    found = [
        (name, source, match.start(2), match[2])
        for name, source in files.items()
        for match in _STRING.finditer(source)
        if "__global__" in match[2]
    ]
    if len(found) != 1:
        return None
    ((name, source, start, text),) = found
    before = source.count("\n", 0, start)
    return _Shift(name, before - _ABOVE["cuda.cu"], before + 1, before + 1 + text.count("\n"))
