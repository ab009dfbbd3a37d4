"""The doctor's findings as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from harness.records.finding import MachineFinding

_STYLES = {"good": "green", "warning": "yellow", "missing": "red"}


def findings_table(findings: Sequence[MachineFinding]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("finding", "state", "detail"):
        table.add_column(column, overflow="fold")
    for finding in findings:
        detail = finding.detail + (f"\n→ {finding.remedy}" if finding.remedy else "")
        table.add_row(finding.name, Text(finding.state, style=_STYLES[finding.state]), Text(detail))
    return table
