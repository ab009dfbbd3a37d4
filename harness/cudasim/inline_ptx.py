"""Inline PTX as C++: each asm statement of instructions that sim/ptx.h has a counterpart for becomes a call of them.

The syntax is that of "Inline PTX Assembly in CUDA".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress

from harness.cudasim.macros import Macros, TooLong
from harness.cudasim.ptx_instructions import NotSimulated, as_cpp
from harness.cudasim.tokens import Token, Unbalanced, closing, group_end, is_in_macro, next_visible, plain_text

ASM = ("asm", "__asm", "__asm__")
PTX_HEADER = '#include "sim/ptx.h"\n'
PTX_MARK = "::sim::ptx_"
"""The mark of a text that needs the header."""

_MANY, _LONG = 200, 4000
"""More asm statements than are looked at in a text that nobody compiles, and more tokens than one has."""
_MOST_IN_ALL = 2_000_000
"""More tokens than the macros of a text stand for where it uses them."""


def with_inline_ptx(tokens: list[Token], most: int = _MOST_IN_ALL) -> list[Token]:
    """Replace the asm statements that can be; others stay, to be refused where somebody uses them. Macros whose
    arguments are parts of a statement are expanded where they are used, to `most` tokens in all."""
    if not any(_is_asm(token) for token in tokens):
        return list(tokens)
    tokens = _replaced(tokens, Macros(tokens, most))
    macros = Macros(tokens, most)  # once more: what could be replaced in their bodies is no asm any more
    left = macros.leading_to(ASM)
    written: list[Token] = []
    i, is_macro = 0, False
    with suppress(Unbalanced, TooLong):  # what is left is refused where somebody uses it
        while i < len(tokens):
            token, end = tokens[i], i + 1
            if token.kind in ("newline", "directive"):
                is_macro = token.kind == "directive"
            if token.kind == "name" and token.text in left and not is_macro:
                end = macros.end_of_call(tokens, i)
                blanks = "".join(_newlines(one) for one in tokens[i:end])
                written += [*_replaced(macros.expanded(tokens[i:end]), macros), Token("space", blanks, token.line)]
            else:
                written.append(token)
            i = end
    return written + tokens[i:]


def _is_asm(token: Token) -> bool:
    return token.kind == "name" and token.text in ASM


def _replaced(tokens: list[Token], macros: Macros) -> list[Token]:
    tokens = list(tokens)
    for i in reversed([n for n, token in enumerate(tokens) if _is_asm(token)]):
        with suppress(NotSimulated):
            code, end = _statement(tokens, i, macros)
            blanks = "".join(_newlines(token) for token in tokens[i:end])
            tokens[i:end] = [Token("code", code + blanks, tokens[i].line)]
    return tokens


def is_simulated(tokens: list[Token]) -> bool:
    """Say whether all asm statements are, those of macros where they are used; many are not looked at."""
    if sum(map(_is_asm, tokens)) > _MANY:
        return False
    left = with_inline_ptx(tokens, 1_000 + 4 * len(tokens))
    return not any(_is_asm(token) and not is_in_macro(left, index) for index, token in enumerate(left))


def unknown_instruction(tokens: list[Token], index: int) -> str | None:
    """Name the instruction for which the asm statement at `index` can't be replaced; empty where there is no telling,
    None where it can be."""
    try:
        _statement(tokens, index, Macros(tokens))
    except NotSimulated as unknown:
        return str(unknown)
    return None


def _newlines(token: Token) -> str:
    if token.kind in ("space", "newline"):
        return token.text if "\n" in token.text else ""
    return "\n" * token.text.count("\n")


def _statement(tokens: list[Token], index: int, macros: Macros) -> tuple[str, int]:
    """Write the asm statement at `index` as C++ on one line, and find its end. Raises: NotSimulated."""
    try:
        (ptx, outputs, inputs), end = _sections(tokens, index, macros)
        written, read = _operands(outputs, r'"[=+]&?[hrlfd]"'), _operands(inputs, r'"[hrlfdn]"')
    except (TooLong, Unbalanced):
        raise NotSimulated from None
    values = [f"auto& sim_{n} = ({text});" for n, text in enumerate(written)]
    values += [f"auto sim_{n} = ::sim::ptx_input({text});" for n, text in enumerate(read, len(written))]
    code = as_cpp(_joined([one for one in ptx if one.is_visible]))
    return " ".join(["([&] {", *values, code, "}())"]), end  # of a macro's arguments it is one


def _sections(tokens: list[Token], index: int, macros: Macros) -> tuple[list[list[Token]], int]:
    """Return its PTX, its outputs and its inputs, and where it ends. Raises: NotSimulated, TooLong, Unbalanced."""
    opening = next_visible(tokens, index)
    while opening is not None and tokens[opening].text in ("volatile", "__volatile__", "__volatile"):
        opening = next_visible(tokens, opening)
    if opening is None or tokens[opening].text != "(":
        raise NotSimulated
    near = tokens[opening : opening + _LONG]
    end = closing(near, 0)
    sections: list[list[Token]] = [[]]
    position = 1
    while position < end:
        if near[position].text in (":", "::"):
            sections += [[] for _ in near[position].text]
            position += 1
            continue
        last = group_end(near, position)
        sections[-1] += near[position : last + 1]
        position = last + 1
    wanted = [*sections, [], []][:3]
    return [macros.expanded(one) if _has_names(one) else one for one in wanted], opening + end + 1


def _has_names(section: list[Token]) -> bool:
    """Say whether names stand outside of brackets: within them are expressions of C++, whose compiler knows their
    macros better."""
    i = 0
    while i < len(section):
        if section[i].kind == "name":
            return True
        i = group_end(section, i) + 1
    return False


def _operands(section: list[Token], constraint: str) -> list[str]:
    found, n = [], 0
    while n < len(section):
        after = next_visible(section, n) if section[n].kind == "string" else None
        if after is not None and section[after].text == "(":
            if not re.fullmatch(constraint, section[n].text):
                raise NotSimulated
            n = closing(section, after)
            value = plain_text(section[after + 1 : n])
            found.append(re.sub(r"\\?\r?\n", " ", value).strip())
        n += 1
    visible = "".join(token.text for token in section if token.is_visible)
    if visible.startswith("[") or (visible and not found):
        raise NotSimulated  # operands with names of their own
    return found


def _joined(literals: Sequence[Token]) -> str:
    """Join string literals to the text that they stand for."""
    if not all(token.kind == "string" and token.text[-1] == '"' for token in literals):
        raise NotSimulated
    parts = []
    for token in literals:
        raw = re.fullmatch(r'R"([^(]*)\((.*)\)\1"', token.text, re.DOTALL)
        try:
            parts.append(raw[2] if raw else str(ast.literal_eval(token.text)))
        except (SyntaxError, ValueError):
            raise NotSimulated from None
    return re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)", " ", "".join(parts), flags=re.DOTALL)
