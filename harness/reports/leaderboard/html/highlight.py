"""Colours of a source as runs beside its plain text: small, and nothing of the source becomes markup.

The page's script cuts the text by the runs when a reader opens it. A run is a letter and a length in UTF-16 units,
as in 'k6.1f4': a keyword of 6, anything of 1, a function's name of 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import PurePosixPath

from pygments.lexer import Lexer
from pygments.lexers import CudaLexer, PythonLexer, YamlLexer
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

_LONGEST = 400_000
"""Characters beyond which a source stays plain: lexers are slow, and nobody reads so far."""

_CUDA_WORDS = re.compile(r"__global__|__device__|#include|<<<|threadIdx|\btorch::|\bat::Tensor|\bstd::|\bTensor\b.*\(")

_LETTERS: tuple[tuple[_TokenType, str], ...] = (
    (Comment.Preproc, "p"),
    (Comment.PreprocFile, "s"),
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword.Type, "t"),
    (Keyword, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Builtin, "t"),
    (Name.Decorator, "p"),
)

_CUDA_ENDINGS = {".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"}

Token = tuple[_TokenType, str]


def runs(name: str, text: str) -> str:
    """The runs of a file's text; '' where it stays plain. Their lengths add up to the text's."""
    tokens = _tokens(PurePosixPath(name).suffix.lower(), text)
    pieces = ((letter, sum(_utf16(part) for _, part in group)) for letter, group in groupby(tokens, key=_letter))
    return "".join(f"{letter}{length}" for letter, length in pieces)


def _tokens(ending: str, text: str) -> Iterable[Token]:
    if len(text) > _LONGEST:
        return ()
    if ending == ".py":
        return _python_with_cuda(text)
    if ending in _CUDA_ENDINGS:
        return _lexed(CudaLexer(), text)
    return _lexed(YamlLexer(), text) if ending in (".yaml", ".yml") else ()


def _python_with_cuda(text: str) -> Iterator[Token]:
    """Python, in which strings that hold CUDA are CUDA."""
    for is_string, group in groupby(_lexed(PythonLexer(), text), key=lambda token: _is(token[0], String)):
        tokens = list(group)
        whole = "".join(part for _, part in tokens)
        if is_string and _CUDA_WORDS.search(whole):
            yield from _cuda_string(whole)
        else:
            yield from tokens


def _cuda_string(literal: str) -> Iterator[Token]:
    """A string literal: its quotes, and between them CUDA."""
    opening = re.match(r"[A-Za-z]{0,2}(?:\"\"\"|'''|\"|')", literal)
    start = opening.end() if opening else 0
    quotes = opening.group().lstrip("rRbBuUfF") if opening else ""
    end = len(literal) - len(quotes) if quotes and literal.endswith(quotes) else len(literal)
    if end < start:
        yield (String, literal)
        return
    yield (String, literal[:start])
    yield from _lexed(CudaLexer(), literal[start:end])
    yield (String, literal[end:])


def _lexed(lexer: Lexer, text: str) -> Iterator[Token]:
    """As it is: get_tokens() would strip blank lines and add one."""
    for _, kind, part in lexer.get_tokens_unprocessed(text):
        if part:
            yield kind, part


def _letter(token: Token) -> str:
    return next((letter for kind, letter in _LETTERS if _is(token[0], kind)), ".")


def _is(kind: _TokenType, ancestor: _TokenType) -> bool:
    return kind[: len(ancestor)] == ancestor


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
