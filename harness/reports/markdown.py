"""Reports as Markdown, in which a stranger's words make no markup: no link, no mention, no tag."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.reports.blocks import Block, Line, Prose, Section, Table, Words, spans
from harness.reports.untrusted import harmless, one_line


def rendered(blocks: Sequence[Block], level: int = 1) -> str:
    """Titles of sections begin with `level` signs; neighbouring lines are a list."""
    return "\n".join(_lines(blocks, level)) + "\n"


def code_span(text: str) -> str:
    """Inline code that its content can't end, safe in a table's cell."""
    plain = one_line(text).replace("|", "¦") or " "
    ticks, space = "`" * _longer_than(plain, 0), " " if "`" in plain else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def fenced(text: str, language: str = "") -> str:
    """A code block that its content can't end."""
    plain = harmless(text).rstrip("\n")
    fence = "`" * _longer_than(plain, 2)
    return f"{fence}{language}\n{plain}\n{fence}"


def table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _longer_than(text: str, least: int) -> int:
    return 1 + max([least, *(len(run) for run in re.findall("`+", text))])


def _lines(blocks: Sequence[Block], level: int) -> Iterator[str]:
    before: Block | None = None
    for number, block in enumerate(blocks):
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        is_listed = isinstance(block, Line) and (isinstance(before, Line) or isinstance(after, Line))
        if before is not None and not (is_listed and isinstance(before, Line)):
            yield ""
        if isinstance(block, Section):
            yield f"{'#' * level} {_inline(block.title)}"
            yield ""
            yield from _lines(block.blocks, level + 1)
        elif isinstance(block, Line):
            yield ("- " if is_listed else "") + _inline(block.words)
        elif isinstance(block, Prose):
            yield fenced(block.text, "text")
        elif isinstance(block, Table):
            yield from _table(block)
        else:
            yield from (f"- {name}: {_inline(words)}" for name, words in block.rows)
        before = block


def _table(table: Table) -> Iterator[str]:
    columns = table.columns
    yield table_row([column.head for column in columns])
    yield f"|{'|'.join('---:' if column.is_number else '---' for column in columns)}|"
    for row in table.rows:
        yield table_row([_cell(words, column.is_name) for words, column in zip(row, columns, strict=True)])


def _cell(words: Words, is_name: bool) -> str:
    """A cell's text; the first piece of a name's cell is the name."""
    first, *others = spans(words)
    return (code_span(first.text) if is_name else _inline([first])) + _inline(others)


def _inline(words: Words) -> str:
    return "".join(code_span(text) if tone == "name" else _plain(text) for text, tone in spans(words))


def _plain(text: str) -> str:
    """Names inside our sentences can't become tags, links, mentions or cells."""
    for sign, name in (("&", "&amp;"), ("<", "&lt;"), ("@", "&#64;"), ("|", "&#124;")):
        text = text.replace(sign, name)
    return re.sub(r"\](?=[(:\[])", "&#93;", text)
