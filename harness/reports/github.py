"""GitHub's views of a gate: annotations, which are commands that a step of an action prints, and Markdown for a
comment on a pull request or for a job's summary. All within GitHub's limits.

Source: GitHub's 'Workflow commands for GitHub Actions'; the escapes are those of actions/toolkit, command.ts. Of one
step GitHub shows 10 annotations of each kind, and of a message 64 KiB. In Markdown a solution's words stand in code
blocks alone: nobody is mentioned by them, no link or HTML comes of them.
"""

from __future__ import annotations

from harness.model.gate import OUTCOMES, GateFinding, GateReport, Judged, Level, Location
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
from harness.reports.untrusted import harmless

COMMENT_BYTES = 65_536
"""GitHub's limit of a comment is as many characters; no text has more of these than bytes."""
SUMMARY_BYTES = 1_048_576
"""GitHub's limit of a step's summary."""

_PER_KIND = 10
_LONGEST_MESSAGE = 16_000  # characters; 64 KiB at four bytes each
_LONGEST_TITLE = 200
_KINDS: dict[Level, str] = {
    "failed": "error",
    "broken": "error",
    "inconclusive": "warning",
    "tolerated": "warning",
    "waived": "notice",
}
_SIGNS = {"failed": "❌", "broken": "💥", "inconclusive": "❔", "passed": "✅"}
_DETAILS = 4000
_FOR_THE_STATEMENT = 200


def annotation_commands(report: GateReport) -> list[str]:
    """The commands, a line each: errors first, the tenth of a kind says how many more there are."""
    lines = []
    for kind in ("error", "warning", "notice"):
        of_kind = [
            _command(kind, report, judged, finding, place)
            for judged in report.judged
            for finding in judged.findings
            if _KINDS.get(finding.level) == kind
            for place in finding.places
        ]
        if left_out := max(0, len(of_kind) - _PER_KIND):
            rest = f"{left_out + 1} more are in the job summary, {headline(report)}"
            of_kind = [*of_kind[: _PER_KIND - 1], f"::{kind} title=harness gate::{_data(rest)}"]
        lines += of_kind
    return lines


def stopping(token: str) -> str:
    """The command after which the runner obeys none until it reads the token, one that nobody can guess."""
    return f"::stop-commands::{token}"


def resuming(token: str) -> str:
    return f"::{token}::"


def without_old_commands(text: str) -> str:
    """JSON in which no '##[command]' stands: the runner still obeys it, and in the middle of a line."""
    return text.replace("##[", "\\u0023#[")


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
    for judged in sorted(report.judged, key=lambda one: OUTCOMES.index(one.outcome)):  # what decides comes first
        if findings := [finding for finding in judged.findings if finding.level != "remark"]:
            pieces.append(_section(judged, findings))
    return _joined(pieces, limit_bytes)


def _command(kind: str, report: GateReport, judged: Judged, finding: GateFinding, place: Location) -> str:
    title = f"{judged.problem}/{judged.solution}: {finding.rule}"
    properties = {
        "file": report.folder + place.file,
        "line": str(max(1, place.line)),
        "title": clipped(title, _LONGEST_TITLE),
    }
    message = "\n".join([finding.message, *([place.text] if place.text else []), f"next: {finding.next_step}"])
    escaped = ((name, _data(value).replace(":", "%3A").replace(",", "%2C")) for name, value in properties.items())
    written = ",".join(f"{name}={value}" for name, value in escaped)
    return f"::{kind} {written}::{_data(clipped(message, _LONGEST_MESSAGE))}"


def _data(text: str) -> str:
    return harmless(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _row(judged: Judged) -> str:
    names = (code_span(judged.problem), code_span(judged.solution))
    answer = f"{_SIGNS[judged.outcome]} {label(judged)}"
    return table_row([*names, verdict_words(judged), *speed_words(judged), answer]) + "\n"


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
