"""The gate's answer on the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.records.gate import GateFinding, GateReport, Judged
from harness.reports.gate_words import (
    NOT_JUDGED,
    clipped,
    finding_words,
    headline,
    label,
    measured_words,
    setting_lines,
    verdict_words,
)
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import harmless

_STYLES = {"failed": "red", "broken": "magenta", "inconclusive": "yellow", "passed": "green"}
_DETAILS, _DETAILS_AT_ONCE = 4000, 1200  # characters
_NAME_WIDTH = 8


def print_gate(console: Console, report: GateReport, verbose: bool) -> None:
    """The table, what is wrong, remarks, and the answer in the last line."""
    if report.judged:
        console.print(gate_table(report))
    for judged in report.judged:
        shown = [finding for finding in judged.findings if finding.level != "remark" or verbose]
        for finding in shown:
            console.print()
            console.print(finding_text(judged, finding, verbose))
    if report.judged:
        console.print()
    for remark in report.remarks:
        console.print(Text(f"remark: {harmless(remark)}", style="dim"))
    for line in setting_lines(report):
        console.print(Text(harmless(line), style="yellow" if line.startswith(NOT_JUDGED) else "dim"))
    console.print(Text(headline(report), style=f"bold {_STYLES[report.outcome]}"))


def gate_table(report: GateReport) -> RenderableType:
    """A line per solution under the name of its problem."""
    parts: list[RenderableType] = []
    for problem, group in groupby(report.judged, key=lambda judged: judged.problem):
        table = Table(box=None, pad_edge=False, header_style="dim")
        table.add_column("solution", overflow="fold", min_width=_NAME_WIDTH)
        table.add_column("verdict", overflow="fold")
        if report.not_judged is None:
            table.add_column("of the accepted speed", no_wrap=True)
        table.add_column("gate", overflow="fold")
        for judged in group:
            table.add_row(*_row(judged, report.not_judged is None))
        parts += [Text(harmless(problem), style="bold"), Padding(table, (0, 0, 0, 2))]
    return Group(*parts)


def finding_text(judged: Judged, finding: GateFinding, verbose: bool) -> RenderableType:
    title = f"{judged.problem}/{judged.solution}: {finding.level} ({finding.rule})"
    lines = finding_words(finding)
    if finding.rule in ("regressed", "below_least_speedup", "inconclusive_speed"):
        lines[1:1] = measured_words(judged)
    body = [Text(harmless(line)) for line in lines]
    if finding.details:
        body.append(Text(clipped(harmless(finding.details), _DETAILS if verbose else _DETAILS_AT_ONCE), style="dim"))
    return Group(Text(harmless(title), style="bold"), *(Padding(line, (0, 0, 0, 2)) for line in body))


def _row(judged: Judged, is_speed_judged: bool) -> list[Text]:
    last = judged.attempts[-1] if judged.attempts else None
    against = [Text(format_speedup(last.against_snapshot if last else None))] if is_speed_judged else []
    gate = Text(label(judged), style=_STYLES[judged.outcome])
    return [Text(harmless(judged.solution)), Text(verdict_words(judged)), *against, gate]
