"""Loops that wait for what another thread writes, `while (*(volatile int*)flag == 0);`: they give their turn to it."""

from __future__ import annotations

from contextlib import suppress

from harness.cudasim.tokens import Token, Unbalanced, closing, next_visible

_ENDS = (";", ",", "=", ")", "[", "(")


def with_turns(tokens: list[Token]) -> list[Token]:
    """Give the turn to other threads at each look of a `while` at something volatile. An atomic gives it by itself."""
    names = {"volatile", *_volatile_names(tokens)}
    written = list(tokens)
    for index in reversed(range(len(tokens))):
        left = next_visible(tokens, index) if tokens[index].text == "while" else None
        if left is None or tokens[left].text != "(":
            continue
        with suppress(Unbalanced):
            if any(token.kind == "name" and token.text in names for token in tokens[left : closing(tokens, left)]):
                written.insert(left + 1, Token("code", "sim_give_turn(), ", tokens[left].line))
    return written


def _volatile_names(tokens: list[Token]) -> set[str]:
    """Find the variables that are declared volatile, or as pointers to what is."""
    found = set()
    for index, token in enumerate(tokens):
        names, end = [], next_visible(tokens, index) if token.text == "volatile" else None
        while end is not None and tokens[end].text not in _ENDS:
            names += [tokens[end].text] if tokens[end].kind == "name" else []
            end = next_visible(tokens, end)
        if end is not None and len(names) > 1:
            found.add(names[-1])
    return found
