"""Reports on the terminal, in 80 columns where they fit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ParamSpec

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from harness.model.verdict import Verdict
from harness.reports.blocks import Block, Column, Line, Pairs, Prose, Section, Table, Tone, Words, spans, verdict_span
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
_UNLIMITED = 10_000
"""Columns: more than any line of a report has."""
_GAP = 2
"""Blanks between two columns."""
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


def plain_text(report: RenderableType, may_colour: bool = False) -> str:
    """A report in which nothing is cut or wrapped, without blanks at the ends of lines; with colours only where
    FORCE_COLOR asks for them."""
    console = Console(highlight=False, width=_UNLIMITED, force_terminal=None if may_colour else False)
    with console.capture() as captured:
        console.print(report)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def verdict_text(verdict: Verdict) -> Text:
    return _text(verdict_span(verdict))


def _parts(blocks: Sequence[Block]) -> Iterator[RenderableType]:
    for number, block in enumerate(blocks):
        if isinstance(block, Section):
            if number:
                yield Text()
            yield _text(block.title, "strong")
            content = rendered(block.blocks)
            yield Padding(content, (0, 0, 0, 2), expand=False) if block.is_inset else content
        elif isinstance(block, Line):
            yield _text(block.words, block.tone)
        elif isinstance(block, Prose):
            yield Text(harmless(block.text), style=_STYLES[block.tone])
        elif isinstance(block, Table):
            yield _Fitting(block)
        else:
            yield _facts(block)


@dataclass(frozen=True)
class _Fitting:
    """A table of which as many columns are shown as there is room for; numbers are never cut."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns, rows = self.table.columns, self.table.rows[: self.table.most]
        least = [_least_width(column, [row[number] for row in rows]) for number, column in enumerate(columns)]
        shown = list(range(len(columns)))
        while len(shown) > 1 and sum(least[number] + _GAP for number in shown) - _GAP > options.max_width:
            shown.remove(max(shown, key=lambda number: (columns[number].is_extra, number)))
        grid = Grid(box=None, pad_edge=False, header_style="bold")
        room = options.max_width - sum(least[number] + _GAP for number in shown) + _GAP
        for number in shown:
            cells = [columns[number].head, *(row[number] for row in rows)]
            more = max(0, min(room, max(_text(cell).cell_len for cell in cells) - least[number]))
            room -= more
            grid.add_column(
                _text(columns[number].head),
                justify="right" if columns[number].is_number else "left",
                no_wrap=not columns[number].wraps,
                overflow="fold",
                width=least[number] + more,
            )
        for row in rows:
            grid.add_row(*(_text(row[number]) for number in shown))
        yield grid
        if left_out := [column.head or "notes" for number, column in enumerate(columns) if number not in shown]:
            yield Text(f"too narrow for: {', '.join(left_out)}", style="dim")
        if more_rows := len(self.table.rows) - len(rows):
            yield Text(f"… and {more_rows} more", style="dim")


def _least_width(column: Column, cells: Sequence[Words]) -> int:
    """The width below which a name is cut into pieces that say little, a number at all, or a word."""
    texts = [_text(cell).plain for cell in cells]
    if column.is_name:
        return min(_NAME_WIDTH, max(map(cell_len, [column.head, *texts])))
    head = column.head.split() if column.wraps else [column.head]
    words = [word for text in texts for word in text.split()] if column.wraps and not column.is_number else texts
    return max(map(cell_len, [*head, *words]), default=0)


def _facts(facts: Pairs) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for name, words in facts.rows:
        grid.add_row(_text(name, "faint"), _text(words))
    return grid


def _text(words: Words, tone: Tone = "plain") -> Text:
    return Text.assemble(*((text, _STYLES[its_tone]) for text, its_tone in spans(words, tone)))
