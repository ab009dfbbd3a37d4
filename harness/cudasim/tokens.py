"""Tokens of a CUDA source, enough to find launches and declarations without being fooled by text."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<space>(?:[ \t\r\f\v]|\\\r?\n)+)
    | (?P<newline>\n)
    | (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
    | (?P<string>(?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\((?:.*?\)(?P=fence)"|.*)
               | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*(?:"|\\?\Z|(?=\n))
               | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+(?:'|\\?\Z|(?=\n)))
    | (?P<number>\.?\d(?:[eEpP][+-]|'\w|[\w.])*)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<symbol><<<|>>>|::|->|\.\.\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_INVISIBLE = ("space", "newline", "comment", "directive")


class Unbalanced(ValueError):
    """A bracket without its partner."""


@dataclass(frozen=True)
class Token:
    """A token: `kind` is a group of the pattern above, `directive` for a preprocessor line, `code` for what is ours."""

    kind: str
    text: str
    line: int

    @property
    def is_visible(self) -> bool:
        return self.kind not in _INVISIBLE


def tokenize(source: str) -> list[Token]:
    """Split all of `source`. A `#define` ends after that word, so that its body is read like code."""
    return _fold_directives(_split(source))


def next_visible(tokens: list[Token], index: int) -> int | None:
    """Find the first visible token after `index`."""
    return next((i for i in range(index + 1, len(tokens)) if tokens[i].is_visible), None)


def previous_visible(tokens: list[Token], index: int) -> int | None:
    """Find the last visible token before `index`."""
    return next((i for i in range(index - 1, -1, -1) if tokens[i].is_visible), None)


def closing(tokens: list[Token], index: int) -> int:
    """Find the bracket that closes the one at `index`."""
    depth = 0
    for i in range(index, len(tokens)):
        depth += _depth_change(tokens[i])
        if depth == 0:
            return i
    raise Unbalanced(tokens[index].text)


def group_end(tokens: list[Token], index: int) -> int:
    """Find the last token of what begins at `index`: the partner of a bracket that opens, else the token itself."""
    return closing(tokens, index) if tokens[index].text in _CLOSING else index


def opening(tokens: list[Token], index: int) -> int:
    """Find the bracket that the one at `index` closes."""
    depth = 0
    for i in range(index, -1, -1):
        depth -= _depth_change(tokens[i])
        if depth == 0:
            return i
    raise Unbalanced(tokens[index].text)


def is_in_macro(tokens: list[Token], index: int) -> bool:
    """Tell whether a macro's body, which runs to the first newline that isn't escaped, holds it. It may be used in a
    function."""
    line = next((i for i in range(index - 1, -1, -1) if tokens[i].kind in ("newline", "directive")), None)
    return line is not None and tokens[line].kind == "directive"


def plain_text(tokens: list[Token]) -> str:
    """Join the text without comments, which could swallow what is written behind it; their newlines stay."""
    return "".join("\n" * t.text.count("\n") + " " if t.kind == "comment" else t.text for t in tokens)


def _depth_change(token: Token) -> int:
    if token.kind != "symbol":
        return 0
    return 1 if token.text in _CLOSING else -1 if token.text in _CLOSING.values() else 0


def _split(source: str) -> list[Token]:
    tokens = []
    position, line = 0, 1
    while position < len(source):
        match = _TOKEN.match(source, position)
        assert match is not None, "the last alternative matches any character"
        kind = "string" if match.lastgroup == "fence" else match.lastgroup
        assert kind is not None
        tokens.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
        position = match.end()
    return tokens


def _fold_directives(tokens: list[Token]) -> list[Token]:
    folded: list[Token] = []
    i, at_line_start = 0, True
    while i < len(tokens):
        if at_line_start and tokens[i].text == "#":
            end = _directive_end(tokens, i)
            text = "".join(token.text for token in tokens[i:end])
            folded.append(Token("directive", text, tokens[i].line))
            i, at_line_start = end, False
            continue
        folded.append(tokens[i])
        if tokens[i].kind not in ("space", "comment"):
            at_line_start = tokens[i].kind == "newline"
        i += 1
    return folded


def _directive_end(tokens: list[Token], start: int) -> int:
    for i in range(start, len(tokens)):
        if tokens[i].kind == "newline":
            return i
        if tokens[i].kind == "name" and tokens[i].text == "define":
            return i + 1
    return len(tokens)
