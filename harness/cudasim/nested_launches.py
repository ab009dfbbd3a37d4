"""Dynamic parallelism: launches in code of the device."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.cudasim.tokens import Token
from harness.cudasim.unsupported import DYNAMIC_PARALLELISM, Unsupported


def refuse_nested_launches(tokens: Iterable[Token]) -> None:
    """Raises Unsupported for a launch where the innermost function around it that says where it runs says: on the
    device alone. A function that runs on both is told of when its launch is reached."""
    braces = _Braces()
    for token in tokens:
        if token.text == "<<<" and braces.are_on_device:
            raise Unsupported(DYNAMIC_PARALLELISM, token.line)
        braces.take(token)


class _Braces:
    """Those that are open, by whether the code behind them is the device's alone."""

    def __init__(self) -> None:
        self._open: list[bool] = []
        self._head: set[str] = set()
        """The names since the last statement or preprocessor line: of a function that a brace may open."""
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
