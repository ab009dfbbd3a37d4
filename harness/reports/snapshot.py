"""What a snapshot holds, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from harness.records.accepted import Accepted
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import harmless


def snapshot_table(accepted: Sequence[Accepted]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("solution", overflow="fold", ratio=3)
    table.add_column("on", overflow="fold", ratio=2)
    table.add_column("verdict", no_wrap=True)
    table.add_column("speed-up [95 %]", justify="right", no_wrap=True)
    for entry in accepted:
        words = (f"{entry.problem}/{entry.solution}", entry.device, entry.verdict.value)
        table.add_row(*(Text(harmless(word)) for word in words), format_speedup(entry.speedup))
    return table
