"""Markdown for a comment on a pull request, or for a job's summary.

A solution's words stand in code blocks alone: nobody is mentioned by them, no link or HTML comes of them.
"""

from __future__ import annotations

from itertools import groupby

from harness.model.gate import GateFinding, GateReport, Judged
from harness.reports.gate import (
    clipped,
    finding_words,
    headline,
    label,
    measured_words,
    setting_lines,
    speed_words,
    verdict_words,
)
from harness.reports.markdown import code_span, fenced, table_row

COMMENT_BYTES = 65_536
"""GitHub's limit of a comment is as many characters; no text has more of these than bytes."""
SUMMARY_BYTES = 1_048_576
"""GitHub's limit of a step's summary."""

_SIGNS = {"failed": "❌", "broken": "💥", "inconclusive": "❔", "passed": "✅"}
_DETAILS = 4000
_FOR_THE_STATEMENT = 200


def gate_markdown(report: GateReport, limit_bytes: int = COMMENT_BYTES) -> str:
    """Headline, a table, what is wrong; what the limit has no room for is left out at the end, and counted."""
    pieces = [f"### {_SIGNS[report.outcome]} {headline(report)}\n\n"]
    pieces += [f"{code_span(line)}  \n" for line in setting_lines(report)]
    if report.judged:
        pieces += [
            "\n| problem | solution | verdict | speed-up | of the accepted | gate |\n|---|---|---|---|---|---|\n"
        ]
        pieces += [_row(judged) for judged in report.judged]
    if report.remarks:
        pieces.append("\nRemarks:\n" + _block("\n".join(report.remarks)))
    for judged, findings in groupby(_notable(report), key=lambda pair: pair[0]):
        pieces.append(_section(judged, [finding for _, finding in findings]))
    return _joined(pieces, limit_bytes)


def _row(judged: Judged) -> str:
    names = (code_span(judged.problem), code_span(judged.solution))
    answer = f"{_SIGNS[judged.outcome]} {label(judged)}"
    return table_row([*names, verdict_words(judged), *speed_words(judged), answer]) + "\n"


def _notable(report: GateReport) -> list[tuple[Judged, GateFinding]]:
    """All findings but remarks; what decides comes first."""
    pairs = [(judged, finding) for judged in report.judged for finding in judged.findings if finding.level != "remark"]
    return sorted(pairs, key=lambda pair: list(_SIGNS).index(pair[0].outcome))


def _section(judged: Judged, findings: list[GateFinding]) -> str:
    lines = [line for finding in findings for line in (f"{finding.level} ({finding.rule})", *finding_words(finding))]
    section = f"\n{_SIGNS[judged.outcome]} {code_span(f'{judged.problem}/{judged.solution}')}\n"
    section += _block("\n".join([*lines, *measured_words(judged)]))
    details = "\n\n".join(finding.details for finding in findings if finding.details)
    if details:
        section += f"<details><summary>details</summary>\n\n{_block(details)}\n</details>\n"
    return section


def _block(text: str) -> str:
    return fenced(clipped(text, _DETAILS), "text") + "\n"


def _joined(pieces: list[str], limit_bytes: int) -> str:
    text, size = "", 0
    for number, piece in enumerate(pieces):
        size += len(piece.encode())
        if size > limit_bytes - _FOR_THE_STATEMENT:
            left_out = len(pieces) - number
            return f"{text}\n\n… {left_out} more lines or sections left out: the limit is {limit_bytes:,} bytes\n"
        text += piece
    return text
