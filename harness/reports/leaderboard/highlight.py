"""Sources in colour, by Pygments' own formatter; CUDA inside Python's strings is CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import PurePosixPath

from markupsafe import Markup, escape
from pygments import highlight
from pygments.filter import Filter
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import CudaLexer, PythonLexer, YamlLexer
from pygments.token import Comment, Keyword, Name, Number, String, Token, _TokenType

_LONGEST = 400_000
"""Characters beyond which a source stays plain: lexers are slow, and nobody reads so far."""

_CUDA_WORDS = re.compile(r"__global__|__device__|#include|<<<|threadIdx|\btorch::|\bat::Tensor|\bstd::|\bTensor\b.*\(")
_LITERAL = re.compile(r"([A-Za-z]{0,2})(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)

_COLOURED = (
    *(Comment.Preproc, Comment.PreprocFile, Comment, String, Number, Keyword.Type, Keyword),
    *(Name.Function, Name.Class, Name.Builtin, Name.Decorator),
)
"""Kinds of words that have a colour on the page; all else is plain, which keeps it small."""

_Token = tuple[_TokenType, str]


class _PythonWithCuda(PythonLexer):  # type: ignore[misc]  # its stubs know no lexer by name
    def get_tokens_unprocessed(
        self, text: str, stack: tuple[str, ...] = ("root",)
    ) -> Iterator[tuple[int, _TokenType, str]]:
        tokens = super().get_tokens_unprocessed(text, stack)
        for is_string, group in groupby(tokens, key=lambda token: token[1] in String):
            pieces = list(group)
            literal = _LITERAL.fullmatch("".join(part for *_, part in pieces)) if is_string else None
            if literal is None or not _CUDA_WORDS.search(literal[3]):
                yield from pieces
                continue
            start = pieces[0][0]
            yield start, String, literal[1] + literal[2]
            for at, kind, part in CudaLexer().get_tokens_unprocessed(literal[3]):
                yield start + literal.start(3) + at, kind, part
            yield start + literal.end(3), String, literal[2]


_LEXERS: dict[str, type[Lexer]] = {
    ".py": _PythonWithCuda,
    **dict.fromkeys((".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"), CudaLexer),
    **dict.fromkeys((".yaml", ".yml"), YamlLexer),
}


def coloured(name: str, text: str) -> Markup:
    """The file's text as HTML, escaped: nothing of it becomes markup. Classes are Pygments' short names."""
    lexer = _LEXERS.get(PurePosixPath(name).suffix.lower())
    if lexer is None or len(text) > _LONGEST:
        return escape(text)
    plainly = lexer(stripnl=False, ensurenl=False)
    plainly.add_filter(_FewKinds())
    written = highlight(text, plainly, HtmlFormatter(nowrap=True))
    return Markup(written if text.endswith("\n") else written.removesuffix("\n"))


class _FewKinds(Filter):
    """Words of a kind that stand side by side become one element."""

    def filter(self, lexer: Lexer | None, stream: Iterable[_Token]) -> Iterator[_Token]:
        for kind, group in groupby(stream, key=lambda token: _kind(token[0])):
            yield kind, "".join(text for _, text in group)


def _kind(kind: _TokenType) -> _TokenType:
    return next((ancestor for ancestor in _COLOURED if kind[: len(ancestor)] == ancestor), Token)
