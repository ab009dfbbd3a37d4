"""Macros of a source, expanded where the translation must see what they stand for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.cudasim.tokens import Token, Unbalanced, closing, next_visible

_MOST, _LONGEST, _DEEPEST = 100_000, 2_000, 50
"""More steps than all asm statements of a text take, more tokens than a call of a macro has, and more macros than stand
for each other: strangers' may double again and again."""
_OF_A_CALL = 50
"""Steps, for what else is done with it."""


class TooLong(ValueError):
    """Macros that stand for more than is looked at."""


@dataclass(frozen=True)
class Macro:
    """A `#define`; `parameters` is None where it takes no arguments."""

    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


class Macros:
    """The macros that are defined once, with neither `#` nor variadic arguments."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        tokens = list(tokens)
        places = [i for i, one in enumerate(tokens) if one.kind == "directive" and one.text.endswith("define")]
        named = [(tokens[name].text, name) for i in places if (name := next_visible(tokens, i)) is not None]
        counts = Counter(name for name, _ in named)
        found = {name: _macro(tokens, place) for name, place in named if counts[name] == 1}
        self.by_name = {name: macro for name, macro in found.items() if macro is not None}
        self._left = _MOST

    def expanded(self, tokens: Sequence[Token]) -> list[Token]:
        """Replace macros by what they stand for, which is said to be on their lines. Raises: TooLong, Unbalanced."""
        return self._expanded(tokens, frozenset())

    def using(self, names: Iterable[str]) -> set[str]:
        """The macros in whose bodies one of these names stands, or one of such a macro."""
        users: dict[str, set[str]] = defaultdict(set)
        for name, macro in self.by_name.items():
            for token in macro.body:
                users[token.text].add(name)
        found: set[str] = set()
        new = list(names)
        while new:
            more = users[new.pop()] - found
            found |= more
            new += more
        return found

    def call(self, tokens: Sequence[Token], index: int) -> list[Token]:
        """The macro at `index` with its arguments. Raises: TooLong, Unbalanced."""
        self._spend(_OF_A_CALL)
        if self.by_name[tokens[index].text].parameters is None:
            return [tokens[index]]
        near = list(tokens[index : index + _LONGEST])
        return near[: _arguments(near, 0)[1]]

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooLong

    def _expanded(self, tokens: Sequence[Token], active: frozenset[str]) -> list[Token]:
        given, result, i = list(tokens), list[Token](), 0
        self._spend(_MOST if len(active) > _DEEPEST else 0)
        while i < len(given):
            self._spend(1)
            name, end = given[i], i + 1
            macro = self.by_name.get(name.text) if name.kind == "name" and name.text not in active else None
            if macro is not None:
                arguments, end = _arguments(given, i) if macro.parameters is not None else ([], i + 1)
                body = self._body(macro, arguments, name.line, active)
                result += [name] if body is None else self._expanded(body, active | {name.text})
            else:
                result.append(name)
            i = end
        return result

    def _body(
        self, macro: Macro, arguments: list[list[Token]] | None, line: int, active: frozenset[str]
    ) -> list[Token] | None:
        """The body with these arguments; None where they are no call of the macro."""
        parameters = macro.parameters or ()
        if arguments is None or len(arguments) != len(parameters):
            return None
        given = {name: self._expanded(one, active) for name, one in zip(parameters, arguments, strict=True)}
        body = [part for one in macro.body for part in given.get(one.text if one.kind == "name" else "", [one])]
        return [replace(one, line=line, text=one.text if one.is_visible else " ") for one in body]


def _end_of_line(tokens: Sequence[Token], index: int) -> int:
    ends = (i for i in range(index, len(tokens)) if tokens[i].kind in ("newline", "directive"))
    return next(ends, len(tokens))


def _macro(tokens: list[Token], name: int) -> Macro | None:
    line = tokens[name + 1 : _end_of_line(tokens, name)]
    if any(one.text in ("#", "...") for one in line):
        return None
    if not line or line[0].text != "(":
        return Macro(None, tuple(line))
    try:
        end = closing(line, 0)
    except Unbalanced:
        return None
    return Macro(tuple(one.text for one in line[1:end] if one.kind == "name"), tuple(line[end + 1 :]))


def _arguments(tokens: list[Token], name: int) -> tuple[list[list[Token]] | None, int]:
    """The arguments of a call, and where it ends; None, and the place behind the name, where it is none."""
    opening = next_visible(tokens, name)
    if opening is None or tokens[opening].text != "(":
        return None, name + 1
    end = closing(tokens, opening)
    arguments: list[list[Token]] = [[]]
    i = opening + 1
    while i < end:
        last = closing(tokens, i) if tokens[i].text in ("(", "[", "{") else i
        if tokens[i].text == ",":
            arguments.append([])
        else:
            arguments[-1] += tokens[i : last + 1]
        i = last + 1
    return ([] if len(arguments) == 1 and not _has_visible(arguments[0]) else arguments), end + 1


def _has_visible(tokens: Iterable[Token]) -> bool:
    return any(one.is_visible for one in tokens)
