"""Explanations of verdicts, checks, the words of a timing and the simulator's findings for the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.records.checks_explained import CHECKS
from harness.records.explanation import Explanation
from harness.records.simulator_findings import FINDING_KINDS
from harness.records.verdicts_explained import VERDICTS
from harness.records.words_explained import WORDS

_MORE = (
    "'harness explain NAME' tells more of one; docs/referee.md, docs/timing.md\n"
    "and docs/simulator_faults.md of all together."
)


def explained(name: str, explanation: Explanation) -> RenderableType:
    parts = [Text.assemble((name, "bold"), f": {explanation.meaning}.")]
    for title, text in (
        ("how it is seen", explanation.observed),
        ("what causes it", explanation.causes),
        ("what to do", explanation.avoid),
        ("in the record", explanation.look),
    ):
        parts += [Text(), Text(title, style="dim"), Padding(Text(f"{text}."), (0, 0, 0, 2))]  # type: ignore[list-item]
    return Group(*parts)


def listed() -> RenderableType:
    verdicts = ((verdict.value, explanation.meaning) for verdict, explanation in VERDICTS.items())
    checks = ((name, explanation.meaning) for name, explanation in CHECKS.items())
    return Group(
        _table("verdict", verdicts),
        Text(),
        _table("check", checks),
        Text(),
        _table("timing", ((name, explanation.meaning) for name, explanation in WORDS.items())),
        Text(),
        _table("simulator", ((name, kind.meaning) for name, kind in FINDING_KINDS.items())),
        Text(),
        Text(_MORE, style="dim"),
    )


def _table(kind: str, rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(kind, no_wrap=True)
    table.add_column("meaning", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
