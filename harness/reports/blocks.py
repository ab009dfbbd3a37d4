"""The parts of a report: lines, tables, facts and sections.

Reports are composed of these once. The terminal, Markdown and the page render them, derive nothing, and see to it that
no text in them steers anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from harness.model.verdict import Verdict
from harness.reports.untrusted import one_line

Tone = Literal["plain", "strong", "faint", "good", "bad", "unsure", "odd", "name"]
"""'name' is a stranger's word, which Markdown must set apart."""


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    tone: Tone = "plain"


Words = str | Span | Sequence[str | Span]
"""A line's or a cell's: a text, or several with their tones."""


@dataclass(frozen=True)
class Line:
    """One line: breaks and runs of blanks in it become a blank."""

    words: Words
    tone: Tone = "plain"


@dataclass(frozen=True)
class Prose:
    """Lines as a stranger or a tool wrote them."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Column:
    """A column of names, numbers or words."""

    head: str
    is_number: bool = False
    is_name: bool = False
    is_extra: bool = False
    """True for a column that is the first to be left out where there is too little room: on a terminal."""
    wraps: bool = True
    """A cell may take two lines there."""


def number(head: str, is_extra: bool = False, wraps: bool = False) -> Column:
    return Column(head, is_number=True, is_extra=is_extra, wraps=wraps)


@dataclass(frozen=True)
class Table:
    """Rows of cells. Where there is little room, `most` rows are shown and the others counted."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[Words]]
    most: int | None = None


Item = TypeVar("Item")
ColumnOf = tuple[Column, Callable[[Item], Words]]
"""A column with what makes its cell of an item."""


def table_of(items: Iterable[Item], columns: Sequence[ColumnOf[Item]]) -> Table:
    """A row for each item."""
    return Table([column for column, _ in columns], [[cell(item) for _, cell in columns] for item in items])


@dataclass(frozen=True)
class Pairs:
    """Names with what is known of each; those of which nothing is known are left out."""

    known: Sequence[tuple[str, Words]]

    @property
    def rows(self) -> list[tuple[str, Words]]:
        return [(name, words) for name, words in self.known if words]


@dataclass(frozen=True)
class Section:
    """Blocks under a title, inset where there is room for it."""

    title: Words
    blocks: Sequence[Block]
    is_inset: bool = True


Block = Line | Prose | Table | Pairs | Section


def spans(words: Words, tone: Tone = "plain") -> list[Span]:
    """The pieces made harmless, each with a tone: its own, or else `tone`. Blanks at their ends keep them apart."""
    pieces = [words] if isinstance(words, (str, Span)) else words
    toned = (piece if isinstance(piece, Span) else Span(piece, tone) for piece in pieces)
    return [Span(_within_a_line(text), its_tone) for text, its_tone in toned]


def _within_a_line(text: str) -> str:
    plain = one_line(text)
    return f"{' ' * text[:1].isspace()}{plain}{' ' * text[-1:].isspace()}" if plain else " " * bool(text)


def verdict_span(verdict: Verdict) -> Span:
    return Span(verdict.value, "good" if verdict.passed else "bad" if verdict.blames_solution else "unsure")
