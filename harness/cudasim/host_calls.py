"""Find in the source what nvcc refuses and g++, which knows no `__device__`, lets pass, for machines without nvcc.

That is a kernel that calls a function of the same source which has no `__device__`, or what the C++ library has for the
host alone; and lambdas that lack `__device__`, or that have it without the flag. Nothing is said where it isn't sure:
of templates' instances, macros, overloads, members, of what may be hidden by a local name, of what stands between #if
and #endif, of sources that include files of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.cudasim.functions import (
    HIDES,
    Function,
    Source,
    device_functions,
    first_call,
    functions_of,
    is_unevaluated,
    kernel_of,
    read_source,
    refused_call,
)
from harness.cudasim.tokens import Token, Unbalanced, closing, opening

HOST_CALL_MARK = "harness-sim-host-call:"
"""Begins a line of the stand-in for nvcc: `file:line: what is wrong`."""

_MOST_SHOWN = 5
_LINE = re.compile(rf"^{HOST_CALL_MARK} (?P<what>.{{1,300}})$", re.MULTILINE)

_HARMLESS = frozenset({"__forceinline__", "__noinline__", "__inline__", "__inline", "__restrict__", "__host__"})
_SUSPECT = re.compile(r"[A-Z][A-Z0-9_]+|__\w+")
"""A macro, by its look: it may stand for anything."""
_COMPILE_TIME = frozenset({"constexpr", "consteval", "operator", "friend", "using", "typedef"})
_MATH = (
    "abs|labs|llabs|div|min|max|clamp|swap|a?(sin|cos|tan)h?(pi)?|sincos(pi)?|exp(2|10|m1)?|log(2|10|1p|b)?|r?sqrt|r?cbrt"
    "|pow|powi|fma|fmax|fmin|fabs|fmod|floor|ceil|round|l?lround|l?lrint|rint|trunc|nearbyint|erfc?(inv|x)?|[lt]gamma"
    "|r?hypot|r?norm[34]?d?|atan2|copysign|fdim|fdivide|ldexp|frexp|modf|ilogb|scalbl?n|remainder|remquo|nextafter|nan"
    "|isnan|isinf|isfinite|signbit|saturate|normcdf(inv)?|cyl_bessel_i[01]|[jy][01n]|printf|assert|malloc|free|memcpy"
    "|memset|clock(64)?|rand|floor_div|ceil_div|div_up|divup|lerp|gcd|lcm|midpoint"
)
_HALF = (
    "h2?(abs|add|sub|mul|div|fma|exp|log|r?sqrt|rcp|sin|cos|tanh|ceil|floor|trunc|rint|max|min|neg|eq|ne|[lg][te])\\w*"
)
_OF_HEADERS = re.compile(rf"({_MATH})[fl]?|{_HALF}|u?l{{0,2}}(max|min)|__\w*|atomic\w+|make_\w+|\w*(half|bfloat16)\w*")
"""Names that headers have for device code, too: an overload of theirs may be what is called."""


def host_calls(text: str, flags: Sequence[str] = ()) -> Iterator[tuple[int, str]]:
    """Yield line numbers with what nvcc says about them. `flags` are those of its command line."""
    source = read_source(text)
    functions = functions_of(source)
    yield from _calls(source, functions)
    yield from _host_only(source, functions, flags)
    yield from _lambdas(source, functions, any("extended-lambda" in flag for flag in flags))


def host_calls_in(log: str) -> tuple[str, ...]:
    """Read what the stand-in for nvcc noted in its log, each note once."""
    return tuple(dict.fromkeys(match["what"] for match in _LINE.finditer(log)))[:_MOST_SHOWN]


# ---- Calls of functions.


def _calls(source: Source, functions: Sequence[Function]) -> Iterator[tuple[int, str]]:
    hosts = _host_functions(source, functions)
    for caller, body in device_functions(source, functions):
        for name in sorted(hosts & {source.tokens[i].text for i in body}):
            call = first_call(source, caller, body, name)
            if call is not None:
                yield source.tokens[call].line, refused_call(name, caller)


def _host_functions(source: Source, functions: Sequence[Function]) -> set[str]:
    """Names that stand for one function each, which is surely not for the device."""
    named: dict[str, list[Function]] = {}
    for function in functions:
        named.setdefault(function.name, []).append(function)
    declared_as_type = {
        after.text for before, after in zip(source.tokens, source.tokens[1:], strict=False) if before.text in HIDES
    }
    return {
        name
        for name, ones in named.items()
        if sum(one.body is not None for one in ones) == 1
        and all(_is_for_host_alone(one, source) for one in ones)
        and name not in source.macros | declared_as_type
        and not _OF_HEADERS.fullmatch(name)
        and not _SUSPECT.fullmatch(name)
    }


def _is_for_host_alone(function: Function, source: Source) -> bool:
    words = [word for word in function.head if re.fullmatch(r"\w+", word)]
    is_plain = not function.is_template and not function.is_conditional and len(words) > 0
    return is_plain and not any(
        word in _COMPILE_TIME
        or word in source.macros
        or (word not in _HARMLESS and _SUSPECT.fullmatch(word) is not None)
        for word in words
    )


# ---- Lambdas.


def _lambdas(source: Source, functions: Sequence[Function], is_extended: bool) -> Iterator[tuple[int, str]]:
    if not is_extended:
        yield from _annotated(source)
    templates = {one.name for one in functions if one.is_kernel and one.is_template}
    templates -= {one.name for one in functions if not (one.is_kernel and one.is_template)} | source.macros
    for function in functions:
        if function.body is not None and not function.is_for_device_alone and not function.is_conditional:
            yield from _passed_to_kernels(source, function.body, templates)


def _annotated(source: Source) -> Iterator[tuple[int, str]]:
    """Find `[…] __device__ (…)` and `[…](…) __device__ {`; `]]` ends an attribute."""
    tokens = source.tokens
    for i in range(2, len(tokens)):
        if tokens[i].text != "__device__" or i in source.conditional:
            continue
        before = i - 1 - (tokens[i - 1].text == "__host__")
        if tokens[before].text == "]" and tokens[before - 1].text != "]" and _begins_lambda(tokens, before):
            yield tokens[i].line, "__host__ or __device__ annotation on lambda requires --extended-lambda nvcc flag"
            return


def _begins_lambda(tokens: Sequence[Token], bracket: int) -> bool:
    """Say whether the bracket that closes here opened where an expression begins, and holds a capture."""
    try:
        before = tokens[opening(list(tokens), bracket) - 1]
    except (Unbalanced, IndexError):
        return False
    return before.text in ("(", ",", "=", "{", ";", "return", ">>>")


def _passed_to_kernels(source: Source, body: range, templates: set[str]) -> Iterator[tuple[int, str]]:
    tokens = list(source.tokens)
    named = _named_lambdas(tokens, body)
    for launch in body:
        if tokens[launch].text != "<<<" or launch in source.conditional:
            continue
        kernel = kernel_of(tokens, launch, body.start)
        if kernel not in templates:
            continue
        for argument in _arguments(tokens, launch):
            if _is_plain_lambda(tokens, argument) or (len(argument) == 1 and tokens[argument.start].text in named):
                what = f"a lambda without __device__ cannot be an argument of a __global__ function template({kernel})"
                yield tokens[argument.start].line, what
                break


def _named_lambdas(tokens: list[Token], body: range) -> set[str]:
    """Collect each `f` of `auto f = […](…) {…};` if nothing else is declared by that name."""
    found: dict[str, list[bool]] = {}
    for i in body:
        if tokens[i].text == "auto" and tokens[i + 1].kind == "name":
            end = next((j for j in range(i, body.stop) if tokens[j].text == ";"), body.stop)
            is_plain = tokens[i + 2].text == "=" and _is_plain_lambda(tokens, range(i + 3, _end(tokens, i + 3, end)))
            found.setdefault(tokens[i + 1].text, []).append(is_plain)
    return {name for name, plain in found.items() if plain == [True]}


def _end(tokens: list[Token], start: int, end: int) -> int:
    """Find the position behind a lambda's body, in which semicolons end nothing."""
    brace = next((i for i in range(start, end) if tokens[i].text == "{"), None)
    try:
        return end if brace is None else closing(tokens, brace) + 1
    except Unbalanced:
        return end


def _is_plain_lambda(tokens: list[Token], argument: range) -> bool:
    """Tell whether it is `[…](…) {…}` and nothing besides, without an annotation."""
    if len(argument) < 3 or tokens[argument.start].text != "[" or tokens[argument.stop - 1].text != "}":
        return False
    try:
        brace = opening(tokens, argument.stop - 1)
        parts = {closing(tokens, argument.start) + 1: "("}
    except Unbalanced:
        return False
    head = [tokens[i].text for i in range(argument.start, brace)]
    return all(tokens[at].text in (sign, "{", "mutable") for at, sign in parts.items()) and not any(
        word in ("__device__", "__host__") or re.fullmatch(r"[A-Z][A-Z0-9_]+", word) for word in head
    )


def _arguments(tokens: list[Token], launch: int) -> Iterator[range]:
    """Yield the arguments of the launch whose `<<<` stands there, each as the positions of its tokens."""
    try:
        i = launch
        while tokens[i].text != ">>>":
            i = closing(tokens, i) + 1 if tokens[i].text in ("(", "[", "{") else i + 1
        left = i + 1
        right = closing(tokens, left) if tokens[left].text == "(" else left
    except (Unbalanced, IndexError):
        return
    start, i = left + 1, left + 1
    while i <= right:
        if i == right or tokens[i].text == ",":
            yield range(start, i)
            start = i + 1
        i = closing(tokens, i) + 1 if tokens[i].text in ("(", "[", "{") and i < right else i + 1


# ---- Names of the C++ library that are for the host alone, and exceptions. Held against nvcc 13.0 with libstdc++ 12.
# In C++20 std::vector, std::string and std::sort are constexpr, and with --expt-relaxed-constexpr, which torch passes,
# nvcc compiles them for the device.


_OBJECTS = frozenset({"vector", "string", "map", "function"})
_CALLED = frozenset({"sort", "rand", "srand"})
_STREAMS = frozenset({"cout"})
_CONSTEXPR_SINCE_20 = frozenset({"vector", "string", "sort"})
_OF_C = ("rand", "srand")
_EXCEPTIONS = ("throw", "try")
_STANDARD = re.compile(r"(?:--?std[= ]?)(?:c|gnu)\+\+(\d\w)")


def _host_only(source: Source, functions: Sequence[Function], flags: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the first line of each function that uses one of them, and what nvcc says about it."""
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
    """Say whether the source adds to std, or names another one so."""
    tokens = source.tokens
    return "std" in source.macros or any(
        one.text == "std" and before.text == "namespace" and after.text != ";"
        for before, one, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def _is_relaxed(flags: Sequence[str]) -> bool:
    """Say whether host constexpr functions count as the device's, and the standard may be one that makes many so."""
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
    """Say whether `std::name` stands there and makes an object, is called or is written to."""
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
    """Return the position behind `<…>`, or `i` if there are none."""
    depth, at = 0, i
    while at < stop and tokens[i].text == "<":
        depth += {"<": 1, ">": -1, "<<<": 3, ">>>": -3}.get(tokens[at].text, 0)
        at += 1
        if depth <= 0:
            return at
    return at


def _makes_object(tokens: Sequence[Token], i: int, before: str) -> bool:
    """Tell `T name;` and its like, `T name(4)` and `= T(…)` from `T*`, `T&`, `T::size_type` and from functions such as
    `T f(int)` and `<T(int)>`."""
    if tokens[i].kind != "name":
        return before in ("(", "=", "return") and tokens[i].text in ("(", "{") and tokens[i + 1].text != "*"
    behind = tokens[i + 1].text
    return behind in (";", "=", "{") or (behind == "(" and tokens[i + 2].kind in ("number", "string"))
