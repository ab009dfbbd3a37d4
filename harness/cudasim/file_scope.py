"""Shared memory that is declared outside functions: each function of the device that names it gets it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.cudasim.tokens import Token, closing, opening, previous_visible

_AFTER_PARAMETERS = ("const", "noexcept", "override", "final")


@dataclass(frozen=True)
class SharedReference:
    """`code` declares `name` as the block's own, without a semicolon."""

    name: str
    code: str


def with_references(tokens: list[Token], references: Sequence[SharedReference]) -> list[Token]:
    """`tokens` with what each body of a device function names declared before it."""
    if not references:
        return tokens
    result = list(tokens)
    for body in reversed(list(_device_functions(tokens))):
        needed = [reference for reference in references if body.names(reference.name)]
        if needed:
            # In a scope around the body, so that a local variable may bear the name.
            code = "; ".join(reference.code for reference in needed)
            result.insert(body.end, Token("code", "}", tokens[body.end].line))
            result.insert(body.start + 1, Token("code", f" {code}; {{", tokens[body.start].line))
    return result


@dataclass(frozen=True)
class _Function:
    tokens: list[Token]
    start: int
    """Its opening brace; `end` is the closing one."""
    end: int
    parameters: tuple[int, int]

    def names(self, name: str) -> bool:
        """Whether its body uses `name`, and no parameter has it."""
        first, last = self.parameters
        if any(token.text == name for token in self.tokens[first:last]):
            return False
        return any(
            self.tokens[i].kind == "name" and self.tokens[i].text == name and not self._is_member(i)
            for i in range(self.start, self.end)
        )

    def _is_member(self, index: int) -> bool:
        before = previous_visible(self.tokens, index)
        return before is not None and self.tokens[before].text in (".", "->", "::")


def _device_functions(tokens: list[Token]) -> Iterator[_Function]:
    i = 0
    while i < len(tokens):
        if tokens[i].kind == "symbol" and tokens[i].text == "{":
            parameters = _parameters_before(tokens, i)
            if parameters is not None:
                end = closing(tokens, i)
                if _is_for_device(tokens, parameters[0]):
                    yield _Function(tokens, i, end, parameters)
                i = end
        i += 1


def _parameters_before(tokens: list[Token], brace: int) -> tuple[int, int] | None:
    before = previous_visible(tokens, brace)
    while before is not None and tokens[before].text in _AFTER_PARAMETERS:
        before = previous_visible(tokens, before)
    if before is None or tokens[before].text != ")":
        return None
    return opening(tokens, before), before


def _is_for_device(tokens: list[Token], index: int) -> bool:
    before = previous_visible(tokens, index)
    while before is not None and tokens[before].text not in (";", "{", "}"):
        if tokens[before].text in ("__global__", "__device__"):
            return True
        before = previous_visible(tokens, before)
    return False
