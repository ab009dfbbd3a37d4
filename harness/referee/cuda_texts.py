"""The CUDA in a solution's files, as the referee finds it without running anything of theirs.

A worker's word on what a source holds can be held against it. Every pattern reads a text once, whatever that holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from harness.backends.sim.unsupported import constructs_in

_PROSE = (".md", ".rst", ".yaml", ".yml")
_LITERAL = re.compile(
    r"""\#[^\n]* | (?P<quotes>\"{3}|'{3})(?P<long>.*?)(?:(?P=quotes)|\Z)
    | "(?P<double>(?:\\.|[^"\\\n])*)"? | '(?P<single>(?:\\.|[^'\\\n])*)'?""",
    re.VERBOSE | re.DOTALL,
)
_IS_CUDA = re.compile(r"\b__(global|device)__\b|\#[ ]{0,8}include\b")
_OF_PYTHON = {
    "Triton": re.compile(r"^[ \t]*(import|from)[ \t]+triton\b", re.MULTILINE),
    "CUDA graphs": re.compile(r"\btorch\.cuda\.(CUDAGraph|graph|make_graphed_callables)\b"),
}
"""What the simulator refuses where it is called."""


def cuda_texts(files: Mapping[str, str]) -> list[str]:
    """By file: of Python all that stands in quotes, of others the whole."""
    named = {name: text for name, text in files.items() if PurePath(name).suffix not in _PROSE}
    return ["\n;\n".join(_literals(text)) if name.endswith(".py") else text for name, text in named.items()]


def beyond_simulator(files: Mapping[str, str]) -> set[str]:
    """The constructs that the simulator refuses and these files hold."""
    found = set[str]()
    for name, text in files.items():
        is_python = name.endswith(".py")
        for piece in _literals(text) if is_python else [text]:
            if PurePath(name).suffix not in _PROSE and _IS_CUDA.search(piece):
                found |= constructs_in(piece)
        found |= {construct for construct, use in _OF_PYTHON.items() if is_python and use.search(text)}
    return found


def _literals(python: str) -> Iterator[str]:
    for match in _LITERAL.finditer(python):
        if match[0][0] != "#":
            yield match["long"] or match["double"] or match["single"] or ""
