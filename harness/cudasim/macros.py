"""Macros of a source, expanded where the translation must see what they stand for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from harness.cudasim.tokens import Token, Unbalanced, closing, group_end, next_visible

_MOST, _DEEPEST = 20_000, 60
"""More tokens than an asm statement has, and more macros within each other: strangers' may double again and again."""
_ASKED = re.compile(r"#\s*(ifndef\s+|if\s+!\s*defined\b\s*\(?\s*)(?P<name>\w+)")
_PER_TEXT = 10
"""The cost of a text that is expanded, in tokens, beside those that it has."""


class TooLong(ValueError):
    """Macros that stand for more than is looked at."""


@dataclass(frozen=True)
class Macro:
    """A `#define`; `parameters` is None where it takes no arguments."""

    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


class Macros:
    """The macros that are defined once, with neither `#` nor variadic arguments, and not by others (`#ifndef`)."""

    def __init__(self, tokens: Sequence[Token], most: int = 50 * _MOST) -> None:
        """Take `most`, how many tokens are looked at in all."""
        tokens = list(tokens)
        places = [i for i, one in enumerate(tokens) if one.kind == "directive" and one.text.endswith("define")]
        named = [(tokens[name].text, name) for i in places if (name := _name_behind(tokens, i)) is not None]
        counts = Counter(name for name, _ in named)
        counts.update(_given_by_others(tokens))
        found = {name: _macro(tokens, place) for name, place in named if counts[name] == 1}
        self.by_name = {name: macro for name, macro in found.items() if macro is not None}
        self._left, self._left_in_all = 0, most

    def expanded(self, tokens: Sequence[Token]) -> list[Token]:
        """Replace macros by what they stand for, which is said to be on their lines. Raises: TooLong, Unbalanced."""
        self._left = _MOST
        self._spend(_PER_TEXT)
        return self._expanded(tokens, frozenset(), 0)

    def leading_to(self, names: Iterable[str]) -> set[str]:
        """The macros in which one of the names stands, or another such macro."""
        users = defaultdict[str, set[str]](set)
        for name, macro in self.by_name.items():
            for token in macro.body:
                users[token.text if token.kind == "name" else ""].add(name)
        found, left = set[str](), list(names)
        while left:
            more = users[left.pop()] - found
            found |= more
            left += more
        return found

    def end_of_call(self, tokens: list[Token], name: int) -> int:
        """The place behind the macro at `name` with its arguments. Raises: Unbalanced."""
        macro = self.by_name[tokens[name].text]
        return name + 1 if macro.parameters is None else _arguments(tokens, name)[1]

    def _spend(self, count: int) -> None:
        self._left -= count
        self._left_in_all -= count
        if self._left < 0 or self._left_in_all < 0:
            raise TooLong

    def _expanded(self, tokens: Sequence[Token], active: frozenset[str], depth: int) -> list[Token]:
        if depth > _DEEPEST:
            raise TooLong
        given, result, i = list(tokens), list[Token](), 0
        while i < len(given):
            self._spend(1)
            name, end = given[i], i + 1
            macro = self.by_name.get(name.text) if name.kind == "name" and name.text not in active else None
            body = None
            if macro is not None:
                arguments, behind = _arguments(given, i) if macro.parameters is not None else ([], i + 1)
                self._spend(behind - i)
                body = self._body(macro, arguments, name.line, active, depth)
            if body is not None:
                result += self._expanded(body, active | {name.text}, depth + 1)
                end = behind
            else:
                result.append(name)
            i = end
        return result

    def _body(
        self, macro: Macro, arguments: list[list[Token]] | None, line: int, active: frozenset[str], depth: int
    ) -> list[Token] | None:
        """The body with these arguments; None where they are no call of the macro."""
        parameters = macro.parameters or ()
        if arguments == [] and len(parameters) == 1:
            arguments = [[]]
        if arguments is None or len(arguments) != len(parameters):
            return None
        given = {name: self._expanded(one, active, depth + 1) for name, one in zip(parameters, arguments, strict=True)}
        parts = [given.get(one.text if one.kind == "name" else "", [one]) for one in macro.body]
        if sum(map(len, parts)) > self._left:
            raise TooLong
        return [replace(one, line=line, text=one.text if one.is_visible else " ") for part in parts for one in part]


def _given_by_others(tokens: Sequence[Token]) -> Iterator[str]:
    """The names that are asked for just before they are defined."""
    directives = [one.text for one in tokens if one.kind == "directive"]
    for asked, define in pairwise(directives):
        if define.endswith("define") and (match := _ASKED.match(asked)):
            yield match["name"]


def _name_behind(tokens: list[Token], define: int) -> int | None:
    """The place of the name that a `#define` defines; None where its line has none."""
    name = define + 1
    while name < len(tokens) and tokens[name].kind in ("space", "comment"):
        name += 1
    return name if name < len(tokens) and tokens[name].kind == "name" else None


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
        last = group_end(tokens, i)
        if tokens[i].text == ",":
            arguments.append([])
        else:
            arguments[-1] += tokens[i : last + 1]
        i = last + 1
    return ([] if len(arguments) == 1 and not _has_visible(arguments[0]) else arguments), end + 1


def _has_visible(tokens: Iterable[Token]) -> bool:
    return any(one.is_visible for one in tokens)
