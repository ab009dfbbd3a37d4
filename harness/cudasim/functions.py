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
    """Headers as they are written, `"a.h"` or `<a.h>`."""


@dataclass(frozen=True)
class Function:
    """A function: `head` has the words and signs before the name, `template<…>` left off; `body` the positions between
    its braces, None for a declaration."""

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
    """List definitions and declarations in their order; none if brackets don't match."""
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


# ---- Functions that nvcc surely compiles for the device, and what is surely called in them.


_BEFORE_CALL = frozenset(
    {"return", "else", "do", "case", "throw", "co_return", "co_yield", "co_await", "and", "or", "not"}
)
_UNEVALUATED = frozenset({"sizeof", "decltype", "noexcept", "typeid", "alignof", "__typeof__"})
HIDES = frozenset({"struct", "class", "union"})
_USUAL_NAMESPACES = frozenset({"std", "cooperative_groups", "nvcuda"})


def device_functions(source: Source, functions: Sequence[Function]) -> Iterator[tuple[Function, range]]:
    """Yield each with its body; none if names may come from files of one's own or from namespaces unknown to us."""
    if any(include.startswith('"') for include in source.includes) or _uses_namespace(source):
        return
    for function in functions:
        if function.body is None or not function.is_for_device_alone or function.is_conditional:
            continue
        if function.is_template and not (function.is_kernel and _is_launched(source, functions, function.name)):
            continue
        words = {source.tokens[i].text for i in function.body}
        if not words & HIDES and not _has(source, function.body, ("if", "constexpr")):
            yield function, function.body


def refused_call(name: str, caller: Function) -> str:
    """Say it in nvcc's words."""
    kind = "__global__" if caller.is_kernel else "__device__"
    return f'calling a __host__ function("{name}") from a {kind} function("{caller.name}") is not allowed'


def first_call(source: Source, caller: Function, body: range, name: str) -> int | None:
    """The position of a call that is one beyond doubt, with no other use of the name that would raise one."""
    tokens = source.tokens
    uses = [i for places in (caller.parameters, body) for i in places if tokens[i].text == name]
    if any(tokens[i - 1].text in (".", "->") for i in uses):
        return None
    if not all(_is_call(tokens, i, body.start) for i in uses):
        return None
    return next((i for i in uses if i not in source.conditional), None)


def is_unevaluated(tokens: Sequence[Token], i: int, start: int) -> bool:
    """Say whether it stands in the brackets of a sizeof or its like, since `start`."""
    depth = 0
    for position in range(i - 1, start - 1, -1):
        depth += (tokens[position].text == ")") - (tokens[position].text == "(")
        if depth < 0:
            if tokens[position - 1].text in _UNEVALUATED:
                return True
            depth = 0
    return False


def kernel_of(tokens: Sequence[Token], launch: int, start: int) -> str | None:
    """Return `k` for `k<<<` and for `k<float, 4><<<`."""
    i, depth = launch - 1, 0
    while i >= start:
        depth += {">": 1, "<": -1, ">>>": 3, "<<<": -3}.get(tokens[i].text, 0)
        if tokens[i].text in (";", "{", "}"):
            return None
        if depth == 0:
            name = tokens[i - 1] if tokens[i].text == "<" else tokens[i]
            return name.text if name.kind == "name" else None
        i -= 1
    return None


def _is_call(tokens: Sequence[Token], i: int, start: int) -> bool:
    before = tokens[i - 1]
    if tokens[i + 1].text != "(" or before.text == "::":
        return False
    if before.kind == "name" and before.text not in _BEFORE_CALL:
        return False
    return not _may_declare(tokens, i, start) and not is_unevaluated(tokens, i, start)


def _may_declare(tokens: Sequence[Token], i: int, start: int) -> bool:
    """Say whether what stands before, as far as the statement's beginning, may be a type."""
    statement = []
    while i > start and tokens[i - 1].text not in (";", "{", "}"):
        i -= 1
        statement.append(tokens[i])
    may = all(one.kind == "name" or one.text in ("::", "<", ">", ",", "*", "&") for one in statement)
    return bool(statement) and may and not any(one.text in _BEFORE_CALL for one in statement)


def _is_launched(source: Source, functions: Sequence[Function], kernel: str) -> bool:
    """Tell whether a function that is compiled in any case launches it."""
    for function in functions:
        if function.body is None or function.is_template or function.is_conditional or function.is_for_device_alone:
            continue
        launches = [i for i in function.body if source.tokens[i].text == "<<<" and i not in source.conditional]
        if any(kernel_of(source.tokens, i, function.body.start) == kernel for i in launches):
            return True
    return False


def _uses_namespace(source: Source) -> bool:
    """Say whether names of a namespace whose functions we don't know are used as one's own."""
    tokens = source.tokens
    return any(
        tokens[i].text == "using" and tokens[i + 1].text == "namespace" and tokens[i + 2].text not in _USUAL_NAMESPACES
        for i in range(len(tokens) - 2)
    )


def _has(source: Source, places: range, words: tuple[str, ...]) -> bool:
    count = len(words)
    return any(tuple(token.text for token in source.tokens[i : i + count]) == words for i in places)
