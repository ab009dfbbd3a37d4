"""Loops that wait for what another thread writes, `while (*(volatile int*)flag == 0);`: they give their turn away."""

from __future__ import annotations

from contextlib import suppress

from harness.cudasim.shared_memory import FunctionBody, device_functions
from harness.cudasim.tokens import Token, Unbalanced, closing, next_visible

_LONGEST_WAIT = 40
"""Tokens in the body of a loop that only waits."""
_ENDLESS = ([";", ";"], ["true"], ["1"])
_ENDS = (";", ",", "=", ")", "[", "(")
_OF_OPERATORS = tuple("=!<>+-*/%&|^")
"""Symbols that belong to one operator with a `=` behind them."""
_IN_TYPES = ("::", "*", "&", "<", ">", ",")


def with_turns(tokens: list[Token]) -> list[Token]:
    """Give the turn to other threads at each look at something volatile: of a `while`, and of a short loop that has no
    other end. An atomic gives it by itself."""
    declared = _volatile_names(tokens)
    functions = _functions(tokens) if declared else []
    written = list(tokens)
    for index in reversed(range(len(tokens))):
        if tokens[index].text not in ("while", "for", "do"):
            continue
        names = {"volatile", *_names_at(index, declared, functions)}
        with suppress(Unbalanced):
            bracket = next_visible(tokens, index)
            if bracket is not None and tokens[bracket].text == "(":
                end = closing(tokens, bracket)
                if tokens[index].text == "while" and _looks_at(tokens, bracket, names):
                    if not _is_declaration(tokens[bracket + 1 : end]):
                        written.insert(bracket + 1, Token("code", "sim_give_turn(), ", tokens[bracket].line))
                    continue
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


def _is_declaration(condition: list[Token]) -> bool:
    """Say whether a loop's condition declares a variable: `int seen = *flag`, `auto seen{*flag}`."""
    before: list[Token] = []
    for index, token in enumerate(condition):
        if token.text == "{" or (token.text == "=" and not _is_of_operator(condition, index)):
            is_typed = len(before) > 1 and before[0].kind == before[-1].kind == "name"
            return is_typed and (before[-2].kind == "name" or before[-2].text in ("*", "&", ">"))
        if token.is_visible and token.kind not in ("name", "number") and token.text not in _IN_TYPES:
            return False
        before += [token] if token.is_visible else []
    return False


def _is_of_operator(condition: list[Token], index: int) -> bool:
    is_behind = index > 0 and condition[index - 1].text in _OF_OPERATORS
    return is_behind or (index + 1 < len(condition) and condition[index + 1].text == "=")


def _functions(tokens: list[Token]) -> list[FunctionBody]:
    with suppress(Unbalanced):
        return list(device_functions(tokens))
    return []


def _names_at(index: int, declared: dict[int, str], functions: list[FunctionBody]) -> set[str]:
    """Collect the names that are declared in the function that holds `index`, or outside of all; all where none does,
    as in a macro."""
    own = next((one for one in functions if one.holds(index)), None)
    others = [one for one in functions if own is not None and one is not own]
    return {name for place, name in declared.items() if not any(one.holds(place) for one in others)}


def _volatile_names(tokens: list[Token]) -> dict[int, str]:
    """Find the variables that are declared volatile, or as pointers to what is, by their places."""
    found = {}
    for index, token in enumerate(tokens):
        names, end = [], next_visible(tokens, index) if token.text == "volatile" else None
        while end is not None and tokens[end].text not in _ENDS:
            names += [tokens[end].text] if tokens[end].kind == "name" else []
            end = next_visible(tokens, end)
        if end is not None and len(names) > 1:
            found[index] = names[-1]
    return found
