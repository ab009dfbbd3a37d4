"""Broken twins of kernels: one mistake each, of a kind that people and models make, at a place drawn by the name.

`broken(source, name)` is deterministic. The kinds take turns by name, so that each breaks about as many kernels; where
one finds no place in a source, the next does.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

_KERNEL = re.compile(r"__global__.*?\n\}", re.DOTALL)
_FORWARD_RETURN = re.compile(r"^(?P<indent>[ \t]+)return (?P<value>\S.*)$", re.MULTILINE)
_CLASS = re.compile(r"class ModelNew\b")


@dataclass(frozen=True)
class Broken:
    """A broken source; `kind` names the mistake."""

    kind: str
    source: str


def broken(source: str, name: str) -> Broken | None:
    """Break a source once; None where no kind finds a place."""
    rng = random.Random(name)
    kinds = list(KINDS)
    start = rng.randrange(len(kinds))
    for kind in kinds[start:] + kinds[:start]:
        changed = KINDS[kind](source, rng)
        if changed is not None and changed != source:
            return Broken(kind, changed)
    return None


def _in_kernels(pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> Callable[..., str | None]:
    """A change of one match in the text of a `__global__` function."""
    compiled = re.compile(pattern)

    def change(source: str, rng: random.Random) -> str | None:
        spans = [kernel.span() for kernel in _KERNEL.finditer(source)]
        found = [match for start, end in spans for match in compiled.finditer(source, start, end)]
        if not found:
            return None
        match = rng.choice(found)
        new = replacement(match) if callable(replacement) else match.expand(replacement)
        return source[: match.start()] + new + source[match.end() :]

    return change


def _of_forward(new: str) -> Callable[..., str | None]:
    """A change of what ModelNew.forward() returns."""

    def change(source: str, rng: random.Random) -> str | None:
        defined = _CLASS.search(source)
        begins = source.find("def forward", defined.start()) if defined else -1
        match = _FORWARD_RETURN.search(source, begins) if begins >= 0 else None
        if match is None or match["value"].count("(") != match["value"].count(")"):
            return None
        return source[: match.start()] + f"{match['indent']}return {new.format(match['value'])}" + source[match.end() :]

    return change


def _without_class(source: str, rng: random.Random) -> str:
    return _CLASS.sub("class Model_New", source)


def _constant(match: re.Match[str]) -> str:
    return f"{float(match[1]) * 1.5 or 1.0}f"


KINDS: dict[str, Callable[[str, random.Random], str | None]] = {
    "missing semicolon": _in_kernels(r";(?=[ \t]*\n)", ""),
    "unknown name": _in_kernels(r"\bthreadIdx\.x\b", "threadIdX.x"),
    "no ModelNew": _without_class,
    "unknown Python name": _of_forward("finished({})"),
    "wrong shape": _of_forward("({}).unsqueeze(0)"),
    "wrong dtype": _of_forward("({}).double()"),
    "wrong constant": _in_kernels(r"(?<![\w.])(\d+\.\d*)f?(?![\w.])", _constant),
    "missing last term": _in_kernels(r"(for\s*\([^;]*;\s*\w+\s*<\s*)(\w+)(\s*;)", r"\1\2 - 1\3"),
    "missing first term": _in_kernels(
        r"(for\s*\(\s*(?:int|size_t|int64_t|unsigned int)\s+\w+\s*=\s*)0(\s*;)", r"\g<1>1\2"
    ),
    "sign of a term": _in_kernels(r"(?<=[\w\])]) - (?=[A-Za-z_(])", " + "),
    "product for sum": _in_kernels(r"(\b(?:\w*sum\w*|acc\w*|val\w*|result)\s*)\+=", r"\1*="),
    "max for min": _in_kernels(r"\b(f?)(max|min)(f?)\(", lambda m: f"{m[1]}{'min' if m[2] == 'max' else 'max'}{m[3]}("),
    "no accumulation": _in_kernels(r"(\b(?:\w*sum\w*|acc\w*|val\w*|result)\s*)\+=", r"\1="),
    "other comparison": _in_kernels(r"(\w|\]) > (0(?:\.0*f?)?)(?=[ ;)])", r"\1 < \2"),
    "neighbour's element": _in_kernels(r"\b(\w*(?:in|input|x|a|A)\w*)\[(\w+)\](?!\s*=[^=])", r"\1[\2 + 1]"),
    "bound one short": _in_kernels(r"(if\s*\(\s*\w+\s*<\s*)(\w+)(\s*\))", r"\1\2 - 1\3"),
}
"""The first two are for compilers, the next two for Python; the last two are faults of memory as well."""
