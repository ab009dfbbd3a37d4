"""The C++ library's names that are for the host alone, and exceptions: found where a function for the device uses them.

Held against nvcc 13.0 with libstdc++ 12. In C++20 std::vector, std::string and std::sort are constexpr, and with
--expt-relaxed-constexpr, which torch passes, nvcc compiles them for the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.cudasim.device_code import device_functions, first_call, is_unevaluated, refused_call
from harness.cudasim.functions import Function, Source
from harness.cudasim.tokens import Token

_OBJECTS = frozenset({"vector", "string", "map", "function"})
_CALLED = frozenset({"sort", "rand", "srand"})
_STREAMS = frozenset({"cout"})
_CONSTEXPR_SINCE_20 = frozenset({"vector", "string", "sort"})
_OF_C = ("rand", "srand")
_EXCEPTIONS = ("throw", "try")
_STANDARD = re.compile(r"(?:--?std[= ]?)(?:c|gnu)\+\+(\d\w)")


def host_only(source: Source, functions: Sequence[Function], flags: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The first line of each function with each of them, and what nvcc says of it."""
    if _defines_std(source):
        return
    own = {function.name for function in functions}
    allowed = _CONSTEXPR_SINCE_20 if _is_relaxed(flags) else frozenset()
    for function, body in device_functions(source, functions):
        yield from _exceptions(source, body)
        for name in sorted((_OBJECTS | _CALLED | _STREAMS) - allowed - source.macros):
            use = next((i for i in body if _is_use(source, body, i, name)), None)
            if use is None and name in _OF_C and name not in own:
                use = first_call(source, function, body, name)
            if use is not None:
                shown = name if name in _OF_C else f"std::{name}"
                yield source.tokens[use].line, refused_call(shown, function)


def _defines_std(source: Source) -> bool:
    """Whether the source adds to std, or names another one so."""
    tokens = source.tokens
    return "std" in source.macros or any(
        one.text == "std" and before.text == "namespace" and after.text != ";"
        for before, one, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def _is_relaxed(flags: Sequence[str]) -> bool:
    """Whether constexpr functions of the host count as the device's, and the standard may be one that makes many so."""
    line = " ".join(flags)
    standard = _STANDARD.search(line)
    return "expt-relaxed-constexpr" in line and (standard is None or standard[1] not in ("11", "14", "17"))


def _exceptions(source: Source, body: range) -> Iterator[tuple[int, str]]:
    for i in body:
        text = source.tokens[i].text
        if text in _EXCEPTIONS and i not in source.conditional and text not in source.macros:
            yield source.tokens[i].line, "device code does not support exception handling"
            return


def _is_use(source: Source, body: range, i: int, name: str) -> bool:
    """Whether `std::name` stands there and makes an object, is called or is written to."""
    tokens = source.tokens
    if tokens[i].text != name or i - 2 < body.start or i in source.conditional:
        return False
    if (tokens[i - 2].text, tokens[i - 1].text) != ("std", "::") or tokens[i - 3].text == "::":
        return False
    if is_unevaluated(tokens, i, body.start):
        return False
    after = i + 1
    if name in _STREAMS:
        return _shifts(tokens, after)
    if name in _OBJECTS:
        behind = _behind_arguments(tokens, after, body.stop)
        return tokens[i - 3].text != "extern" and _makes_object(tokens, behind, before=tokens[i - 3].text)
    return tokens[after].text == "("


def _shifts(tokens: Sequence[Token], i: int) -> bool:
    return tokens[i].text == tokens[i + 1].text == "<"


def _behind_arguments(tokens: Sequence[Token], i: int, stop: int) -> int:
    """The position behind `<…>`, or `i` where there are none."""
    depth, at = 0, i
    while at < stop and tokens[i].text == "<":
        depth += {"<": 1, ">": -1, "<<<": 3, ">>>": -3}.get(tokens[at].text, 0)
        at += 1
        if depth <= 0:
            return at
    return at


def _makes_object(tokens: Sequence[Token], i: int, before: str) -> bool:
    """`T name;` and its like, `T name(4)`, `= T(…)`; not `T*`, `T&`, `T::size_type`, nor a function as in `T f(int)`,
    `<T(int)>`."""
    if tokens[i].kind != "name":
        return before in ("(", "=", "return") and tokens[i].text in ("(", "{") and tokens[i + 1].text != "*"
    behind = tokens[i + 1].text
    return behind in (";", "=", "{") or (behind == "(" and tokens[i + 2].kind in ("number", "string"))
