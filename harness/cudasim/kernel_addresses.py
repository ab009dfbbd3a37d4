"""Kernels whose address the host takes, `(void*)kernel<4>`: name and parameters' types are written down with it, for
launches by function (include/sim/launch_functions.h)."""

from __future__ import annotations

from harness.cudasim.tokens import Token, closing, next_visible, previous_visible

_LAUNCHES = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
_NAMED_CASTS = ("reinterpret_cast", "static_cast")
_IN_POINTER = ("void", "const", "*")


def with_kernel_names(tokens: list[Token]) -> list[Token]:
    """Replace each cast of a kernel to `void*` by one that writes down which kernel it is. A cast that begins the
    arguments of a launch is left out, since the type says more than the address."""
    kernels = _kernels(tokens)
    written = list(tokens)
    for index in reversed(range(len(tokens))):
        end = _cast_end(tokens, index)
        if end is None:
            continue
        name = _name_behind(tokens, end)
        code = f'::sim::KernelName{{"{name}"}}->*' if name in kernels else ""
        if tokens[index].kind == "name":
            written[end + 1 : end + 1] = [Token("code", code, tokens[end].line)]
        elif code or _begins_launch(tokens, index):
            code = "" if _begins_launch(tokens, index) else code
            written[index : end + 1] = [Token("code", code, tokens[index].line)]
    return written


def _kernels(tokens: list[Token]) -> set[str]:
    """Find the names of the functions that are declared `__global__`."""
    found = set()
    for index, token in enumerate(tokens):
        name = next_visible(tokens, index) if token.text == "__global__" else None
        while name is not None:
            after = next_visible(tokens, name)
            if after is None or tokens[name].text in (";", "{"):
                break
            if tokens[after].text != "(" or tokens[name].kind != "name":
                name = after
            elif tokens[name].text.startswith("__"):  # __launch_bounds__ and its kind
                name = next_visible(tokens, closing(tokens, after))
            else:
                found.add(tokens[name].text)
                break
    return found


def _cast_end(tokens: list[Token], index: int) -> int | None:
    """Find the last token of the cast to `void*` that begins at `index`: `)` in C, in C++ the `(` of its argument."""
    is_named = tokens[index].text in _NAMED_CASTS
    opening = next_visible(tokens, index) if is_named else index
    if opening is None or tokens[opening].text != ("<" if is_named else "("):
        return None
    end, words = next_visible(tokens, opening), []
    while end is not None and tokens[end].text in _IN_POINTER:
        words.append(tokens[end].text)
        end = next_visible(tokens, end)
    if end is None or "void" not in words or words.count("*") != 1 or tokens[end].text != (">" if is_named else ")"):
        return None
    return next_visible(tokens, end) if is_named else end


def _name_behind(tokens: list[Token], index: int) -> str:
    """Return the last part of the name that follows, behind `&`, brackets and namespaces."""
    name = next_visible(tokens, index)
    while name is not None:
        after = next_visible(tokens, name)
        if after is not None and (tokens[name].text in ("&", "(", "::") or tokens[after].text == "::"):
            name = after
            continue
        return tokens[name].text if after is None or tokens[after].text != "(" else ""
    return ""


def _begins_launch(tokens: list[Token], index: int) -> bool:
    bracket = previous_visible(tokens, index)
    if bracket is None or tokens[bracket].text != "(":
        return False
    function = previous_visible(tokens, bracket)
    return function is not None and tokens[function].text in _LAUNCHES
