"""Loops that wait for what another thread writes, `while (*(volatile int*)flag == 0);`: they give their turn away."""

from __future__ import annotations

from contextlib import suppress

from harness.cudasim.tokens import Token, Unbalanced, closing, next_visible

_LONGEST_WAIT = 40
"""Tokens in the body of a loop that only waits."""
_ENDLESS = ([";", ";"], ["true"], ["1"])
_ENDS = (";", ",", "=", ")", "[", "(")


def with_turns(tokens: list[Token]) -> list[Token]:
    """Give the turn to other threads at each look at something volatile: of a `while`, and of a short loop that has no
    other end. An atomic gives it by itself."""
    names = {"volatile", *_volatile_names(tokens)}
    written = list(tokens)
    for index in reversed(range(len(tokens))):
        if tokens[index].text not in ("while", "for", "do"):
            continue
        with suppress(Unbalanced):
            bracket = next_visible(tokens, index)
            if bracket is not None and tokens[bracket].text == "(":
                if tokens[index].text == "while" and _looks_at(tokens, bracket, names):
                    written.insert(bracket + 1, Token("code", "sim_give_turn(), ", tokens[bracket].line))
                    continue
                end = closing(tokens, bracket)
                if [token.text for token in tokens[bracket + 1 : end] if token.is_visible] not in _ENDLESS:
                    continue
                bracket = next_visible(tokens, end)
            is_body = bracket is not None and tokens[bracket].text == "{"
            if bracket is not None and is_body and _looks_at(tokens, bracket, names, _LONGEST_WAIT):
                written.insert(bracket + 1, Token("code", " sim_give_turn();", tokens[bracket].line))
    return written


def _looks_at(tokens: list[Token], bracket: int, names: set[str], most: int | None = None) -> bool:
    """Say whether one of the names stands between the brackets, with `most` tokens that are seen."""
    inside = [token for token in tokens[bracket : closing(tokens, bracket)] if token.is_visible]
    return (most is None or len(inside) <= most) and any(one.kind == "name" and one.text in names for one in inside)


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
