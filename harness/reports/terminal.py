"""Reports on the terminal, in 80 columns where they fit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ParamSpec

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from harness.model.verdict import Verdict
from harness.reports.blocks import Block, Line, Pairs, Prose, Section, Table, Tone, Words, spans, verdict_span
from harness.reports.untrusted import harmless

_STYLES: dict[Tone, str] = {
    "plain": "",
    "strong": "bold",
    "faint": "dim",
    "good": "green",
    "bad": "red",
    "unsure": "yellow",
    "odd": "magenta",
    "name": "bold",
}
_NAME_WIDTH = 8
Asked = ParamSpec("Asked")


@dataclass(frozen=True)
class Report:
    """A whole answer. A rich console prints it as it is."""

    blocks: Sequence[Block]

    def __rich__(self) -> RenderableType:
        return rendered(self.blocks)


def reporting(blocks: Callable[Asked, Iterator[Block]]) -> Callable[Asked, Report]:
    """Decorate a function that yields a report's blocks: it returns the report."""

    @functools.wraps(blocks)
    def whole(*args: Asked.args, **options: Asked.kwargs) -> Report:
        return Report(list(blocks(*args, **options)))

    return whole


def rendered(blocks: Sequence[Block]) -> RenderableType:
    """An empty line stands before each section but the first block."""
    return Group(*_parts(blocks))


def verdict_text(verdict: Verdict) -> Text:
    return _text(verdict_span(verdict))


def _parts(blocks: Sequence[Block]) -> Iterator[RenderableType]:
    for number, block in enumerate(blocks):
        if isinstance(block, Section):
            if number:
                yield Text()
            yield _text(block.title, "strong")
            content = rendered(block.blocks)
            yield Padding(content, (0, 0, 0, 2)) if block.is_inset else content
        elif isinstance(block, Line):
            yield _text(block.words, block.tone)
        elif isinstance(block, Prose):
            yield Text(harmless(block.text), style=_STYLES[block.tone])
        elif isinstance(block, Table):
            yield from _table(block)
        else:
            yield _facts(block)


def _table(table: Table) -> Iterator[RenderableType]:
    shown = [not column.is_extra for column in table.columns]
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for column in (column for column in table.columns if not column.is_extra):
        grid.add_column(
            _text(column.head),
            justify="right" if column.is_number else "left",
            no_wrap=not column.wraps,
            overflow="fold",
            min_width=_NAME_WIDTH if column.is_name else None,
        )
    for row in table.rows[: table.most]:
        grid.add_row(*(_text(cell) for cell, is_shown in zip(row, shown, strict=True) if is_shown))
    yield grid
    if table.most is not None and len(table.rows) > table.most:
        yield Text(f"… and {len(table.rows) - table.most} more", style="dim")


def _facts(facts: Pairs) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for name, words in facts.rows:
        grid.add_row(_text(name, "faint"), _text(words))
    return grid


def _text(words: Words, tone: Tone = "plain") -> Text:
    return Text.assemble(*((text, _STYLES[its_tone]) for text, its_tone in spans(words, tone)))
