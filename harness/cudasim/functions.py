"""The functions at namespace scope of a CUDA source, found without a compiler: enough to say who calls whom.

Whatever a preprocessor or a template could make something else of is marked, so that its reader may leave it alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.cudasim.tokens import Token, Unbalanced, closing, tokenize

_OF_NO_NAME = frozenset({"__launch_bounds__", "__attribute__", "alignas", "decltype", "__declspec", "__maxnreg__"})
_TYPE_WORDS = frozenset({"class", "struct", "union", "enum"})


@dataclass(frozen=True)
class Source:
    """Tokens that a compiler sees, without spaces, comments and the bodies of macros."""

    tokens: tuple[Token, ...]
    conditional: frozenset[int]
    """Positions in `tokens` that stand between #if and #endif."""
    macros: frozenset[str]
    includes: tuple[str, ...]
    """As they are written, `"a.h"` or `<a.h>`."""


@dataclass(frozen=True)
class Function:
    """`head` are the words and signs before the name, `template<…>` left off; `body` the positions between its braces,
    None of a declaration."""

    name: str
    head: tuple[str, ...]
    parameters: range
    body: range | None
    is_template: bool
    is_conditional: bool

    @property
    def is_kernel(self) -> bool:
        return "__global__" in self.head

    @property
    def is_for_device_alone(self) -> bool:
        return self.is_kernel or ("__device__" in self.head and "__host__" not in self.head)


def read_source(text: str) -> Source:
    visible: list[Token] = []
    conditional, macros, includes = set(), set(), []
    depth, in_macro, names_macro = 0, False, False
    for token in tokenize(text):
        if token.kind == "directive":
            word = re.match(r"#\s*(\w*)", token.text)
            directive = word[1] if word else ""
            depth += (directive in ("if", "ifdef", "ifndef")) - (directive == "endif")
            in_macro = names_macro = directive == "define"
            if directive == "include":
                includes.append(token.text.split("include", 1)[1].strip())
        elif token.kind == "newline":
            in_macro = False
        elif token.is_visible and in_macro:
            macros |= {token.text} if names_macro else set()
            names_macro = False
        elif token.is_visible:
            conditional |= {len(visible)} if depth > 0 else set()
            visible.append(token)
    return Source(tuple(visible), frozenset(conditional), frozenset(macros), tuple(includes))


def functions_of(source: Source) -> tuple[Function, ...]:
    """Definitions and declarations, in their order. Nothing where brackets don't match."""
    try:
        return tuple(_functions(source, list(source.tokens)))
    except (Unbalanced, IndexError):
        return ()


def _functions(source: Source, tokens: list[Token]) -> Iterator[Function]:
    start, i = 0, 0
    while i < len(tokens):
        text = tokens[i].text
        if text in ("(", "["):
            i = closing(tokens, i)
        elif text == ";" or text == "}":  # a brace that closes is a namespace's
            yield from _function(source, tokens, start, i, None)
            start = i + 1
        elif text == "{" and _opens_scope(tokens[start:i]):
            start = i + 1
        elif text == "{":
            end = closing(tokens, i)
            function = list(_function(source, tokens, start, i, range(i + 1, end)))
            yield from function
            i, start = end, end + 1 if function else start
        i += 1


def _opens_scope(before: Sequence[Token]) -> bool:
    words = [token.text for token in before]
    return "namespace" in words or words == ["extern", '"C"']


def _function(source: Source, tokens: list[Token], start: int, end: int, body: range | None) -> Iterator[Function]:
    first = _after_template(tokens, start)
    i = first
    while i < end and not (tokens[i].text == "(" and tokens[i - 1].text not in _OF_NO_NAME):
        if tokens[i].text == "=" or tokens[i].text in _TYPE_WORDS:
            return
        i = closing(tokens, i) + 1 if tokens[i].text in ("(", "[") else i + 1
    is_named = first < i < end and tokens[i - 1].kind == "name" and (i - 2 < first or tokens[i - 2].text != "::")
    if not is_named:
        return
    yield Function(
        name=tokens[i - 1].text,
        head=tuple(token.text for token in tokens[first : i - 1]),
        parameters=range(i + 1, closing(tokens, i)),
        body=body,
        is_template=first > start,
        is_conditional=any(position in source.conditional for position in range(start, end + 1)),
    )


def _after_template(tokens: list[Token], start: int) -> int:
    """The position behind `template <…>`, however often it stands there."""
    while tokens[start].text == "template" and tokens[start + 1].text == "<":
        depth, i = 0, start + 1
        while True:
            depth += {"<": 1, ">": -1, "<<<": 3, ">>>": -3}.get(tokens[i].text, 0)
            if depth <= 0:
                break
            i = closing(tokens, i) + 1 if tokens[i].text in ("(", "[", "{") else i + 1
        start = i + 1
    return start
