"""Launches, `kernel<<<…>>>(…)`, as C++, and the bounds that kernels set to them; those in code of the device (dynamic
parallelism) are refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from harness.cudasim.tokens import (
    Token,
    Unbalanced,
    closing,
    group_end,
    is_in_macro,
    next_visible,
    opening,
    plain_text,
    previous_visible,
)
from harness.cudasim.unsupported import DYNAMIC_PARALLELISM, Unsupported

_BREAK = re.compile(r"\\?\r?\n")
"""A line's end, with what continues a macro's."""
_STATEMENT_WORDS = ("return", "else", "do")


def with_launches(tokens: list[Token]) -> list[Token]:
    written: list[Token] = []
    done = 0
    for index, token in enumerate(tokens):
        if token.text != "<<<" or index < done:
            continue
        try:
            start, end, code = _launch(tokens, index)
        except (Unbalanced, IndexError):
            raise Unsupported("a launch whose brackets don't match", token.line) from None
        written += [*tokens[done:start], Token("code", code, tokens[start].line)]
        done = end
    return written + tokens[done:]


def with_launch_bounds(tokens: list[Token]) -> list[Token]:
    """Have each kernel look, before its own code, whether its block has more threads than __launch_bounds__ allows; not
    where preprocessor lines stand between that and its code, or a parameter may have a name of the bounds."""
    written = list(tokens)
    places = [i for i, one in enumerate(tokens) if one.text == "__launch_bounds__" and not is_in_macro(tokens, i)]
    for place in reversed(places):
        with suppress(Unbalanced, IndexError):
            left = next_visible(tokens, place) or place
            right = closing(tokens, left)
            brace = _body(tokens, right) if tokens[left].text == "(" else None
            names = {one.text for one in tokens[left:right] if one.kind == "name"}
            if brace is not None and names.isdisjoint(one.text for one in tokens[right:brace]):  # of parameters
                most = plain_text(tokens[left + 1 : right])
                look = Token("code", f" SIM_LAUNCH_BOUNDS({most})", tokens[brace].line)
                written[brace + 1 : brace + 1] = [look, Token("symbol", ";", tokens[brace].line)]
    return written


def _body(tokens: list[Token], index: int) -> int | None:
    """Find the brace that opens the function whose head `index` lies in; None where that is a declaration."""
    while tokens[index].kind != "directive" and tokens[index].text != ";":
        if tokens[index].text == "{":
            return index
        index = group_end(tokens, index) + 1
    return None


def _launch(tokens: list[Token], index: int) -> tuple[int, int, str]:
    """Return first token, end and replacement of the launch whose `<<<` is at `index`."""
    close = index + 1
    while tokens[close].text != ">>>":
        close = group_end(tokens, close) + 1
    left = next_visible(tokens, close)
    if left is None or tokens[left].text != "(":
        raise Unsupported("a launch without arguments in parentheses", tokens[index].line)
    right = closing(tokens, left)
    start = _kernel_start(tokens, index)
    named = plain_text(tokens[start:index])
    kernel, breaks = _BREAK.sub(" ", named).strip(), "".join(_BREAK.findall(named))
    text = f"SIM_TEXT({kernel})"
    if any(token.kind == "directive" for token in tokens[start:index]):
        kernel, text, breaks = named, f'"{tokens[start].text}"', ""
    configuration = plain_text(tokens[index + 1 : close])
    arguments = plain_text(_with_null_pointers(tokens[left + 1 : right]))
    gap = breaks + plain_text(tokens[close + 1 : left])
    code = (
        f"::sim::Launcher{{::sim::Configuration({configuration}), {text}, __FILE__, __LINE__}}"
        f"{gap}.with({arguments})([=](auto&... sim_argument) mutable {{ {kernel}(sim_argument...); }})"
    )
    return start, right + 1, code


def _with_null_pointers(arguments: list[Token]) -> list[Token]:
    """Write nullptr for an argument NULL: where the argument's type is deduced, that is a number."""
    written = list(arguments)
    visible = [index for index, token in enumerate(arguments) if token.is_visible]
    depth = 0
    for before, index, after in zip([None, *visible], visible, [*visible[1:], None], strict=False):
        around = [arguments[near].text for near in (before, after) if near is not None]
        depth += (arguments[index].text in "([{") - (arguments[index].text in ")]}")
        if depth == 0 and arguments[index].text == "NULL" and all(text == "," for text in around):
            written[index] = replace(arguments[index], text="nullptr")
    return written


def _kernel_start(tokens: list[Token], index: int) -> int:
    """The first token of the expression that names the kernel, left of `<<<`."""
    end = previous_visible(tokens, index)
    while end is not None:
        start = _operand_start(tokens, end)
        before = previous_visible(tokens, start)
        if before and tokens[before].text == tokens[before - 1].text == "#":  # a macro pastes the name together
            end = previous_visible(tokens, before - 1)
            continue
        if before is None or tokens[before].text not in ("::", ".", "->"):
            return start
        owner = previous_visible(tokens, before)
        if owner is None or not _is_owner(tokens[owner], tokens[before].text):
            return before
        end = owner
    raise Unbalanced("<<<")


def _operand_start(tokens: list[Token], end: int) -> int:
    """Find where a name with its template arguments, indices and calls begins, or an expression in parentheses."""
    while True:
        start = end
        if tokens[end].text in (">", ">>>"):
            start = _template_opening(tokens, end)
        elif tokens[end].text in (")", "]"):
            start = opening(tokens, end)
        before = previous_visible(tokens, start)
        if start == end or before is None:
            return start
        if tokens[end].text == ")" and not (_is_name(tokens[before]) or tokens[before].text in (">", "]")):
            return start
        end = before


def _is_owner(token: Token, separator: str) -> bool:
    """Say whether an owner can end in `token`: `if (c) ::kernel` has none, `get(c).kernel` has one."""
    return _is_name(token) or token.text in ((">",) if separator == "::" else (">", ")", "]"))


def _is_name(token: Token) -> bool:
    return token.kind == "name" and token.text not in _STATEMENT_WORDS


def _template_opening(tokens: list[Token], index: int) -> int:
    depth, i = 0, index
    while i >= 0:
        text = tokens[i].text if tokens[i].kind == "symbol" else ""
        if text in (";", "{"):
            break
        if text in (")", "]", "}"):
            i = opening(tokens, i)
        depth += {">": 1, ">>>": 3, "<": -1, "<<<": -3}.get(text, 0)
        if depth == 0 and text:
            return i
        i -= 1
    raise Unbalanced(">")


def refuse_nested_launches(tokens: Iterable[Token]) -> None:
    """Raise Unsupported for a launch in a function that runs on the device alone; the innermost function around it that
    says where it runs decides. In a function that runs on both, the launch is reported when it is reached."""
    braces = _Braces()
    for token in tokens:
        if token.text == "<<<" and braces.are_on_device:
            raise Unsupported(DYNAMIC_PARALLELISM, token.line)
        braces.take(token)


class _Braces:
    """The braces that are open, and whether the code behind each is the device's alone."""

    def __init__(self) -> None:
        self._open: list[bool] = []
        self._head: set[str] = set()
        """The names since the last statement or preprocessor line: the head of a function that a brace may open."""
        self._around_macro: list[bool] | None = None
        self._at_conditionals: list[list[bool]] = []

    @property
    def are_on_device(self) -> bool:
        return bool(self._open) and self._open[-1]

    def take(self, token: Token) -> None:
        if token.kind == "name":
            self._head.add(token.text)
        elif token.kind == "directive":
            self._begin_line(token.text)
        elif token.kind == "newline" and self._around_macro is not None:
            self._open, self._around_macro, self._head = self._around_macro, None, set()
        elif token.kind == "symbol" and token.text in (";", "{", "}"):
            self._end_head(token.text)

    def _begin_line(self, directive: str) -> None:
        if re.match(r"#\s*if", directive):
            self._at_conditionals.append(self._open.copy())
        elif re.match(r"#\s*el", directive) and self._at_conditionals:
            # Each branch may open the same function.
            self._open = self._at_conditionals[-1].copy()
        elif re.match(r"#\s*endif", directive) and self._at_conditionals:
            self._at_conditionals.pop()
        elif directive.endswith("define"):
            self._around_macro, self._open = self._open, []
        self._head = set()

    def _end_head(self, symbol: str) -> None:
        if symbol == "{":
            is_said = bool(self._head & {"__global__", "__device__"})
            self._open.append("__host__" not in self._head and (is_said or self.are_on_device))
        elif symbol == "}" and self._open:
            self._open.pop()
        self._head = set()
