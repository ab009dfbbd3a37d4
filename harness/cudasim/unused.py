"""What a CUDA source holds and nobody compiles or uses: code behind `#if 0`, and headers of libraries of which no name
is used. The simulator needn't know them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.cudasim.tokens import Token
from harness.cudasim.unsupported import is_used

_CONDITIONAL = re.compile(r"#\s*(?P<word>ifdef|ifndef|if|elif|else|endif)\b\s*(?P<condition>.*)", re.DOTALL)
_NEVER = re.compile(r"(0|false)\s*(//.*|/\*.*)?", re.DOTALL)
_INCLUDE = re.compile(r"#\s*include\s*<(?P<header>[^>]+)>")
"""Of a library; what stands in quotes may be the solution's own, whatever its name."""


def without_unused(tokens: Sequence[Token]) -> list[Token]:
    """The same lines; what is left out is empty."""
    living = without_dead(tokens)
    names = {token.text for token in living if token.kind == "name"}
    return [_emptied(token) if _is_unused(token, names) else token for token in living]


def without_dead(tokens: Sequence[Token]) -> list[Token]:
    """The same lines; what no compiler reads is empty."""
    living: list[Token] = []
    dead: list[bool] = []
    """Of each conditional that is open: whether its present branch is never compiled."""
    for token in tokens:
        conditional = _CONDITIONAL.match(token.text) if token.kind == "directive" else None
        if conditional is None:
            living.append(_emptied(token) if any(dead) else token)
            continue
        word = conditional["word"]
        if word in ("if", "ifdef", "ifndef"):
            dead.append(word == "if" and _NEVER.fullmatch(conditional["condition"]) is not None)
        elif word == "endif":
            del dead[-1:]
        elif dead:
            dead[-1] = word == "elif" and _NEVER.fullmatch(conditional["condition"]) is not None
        living.append(token)
    return living


def _is_unused(token: Token, names: set[str]) -> bool:
    include = _INCLUDE.match(token.text) if token.kind == "directive" else None
    return include is not None and not is_used(include["header"], names)


def _emptied(token: Token) -> Token:
    return replace(token, kind="space", text="\n" * token.text.count("\n"))
