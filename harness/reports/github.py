"""Annotations of GitHub Actions: commands that a step prints, within GitHub's limits.

Source: GitHub's 'Workflow commands for GitHub Actions'; the escapes are those of actions/toolkit, command.ts. Of one
step GitHub shows 10 annotations of each kind, and of a message 64 KiB.
"""

from __future__ import annotations

from harness.model.gate import GateFinding, GateReport, Judged, Level, Location
from harness.reports.gate import clipped, headline
from harness.reports.untrusted import harmless

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


def _command(kind: str, report: GateReport, judged: Judged, finding: GateFinding, place: Location) -> str:
    title = f"{judged.problem}/{judged.solution}: {finding.rule}"
    properties = {
        "file": report.folder + place.file,
        "line": str(max(1, place.line)),
        "title": clipped(title, _LONGEST_TITLE),
    }
    message = "\n".join([finding.message, *([place.text] if place.text else []), f"next: {finding.next_step}"])
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {written}::{_data(clipped(message, _LONGEST_MESSAGE))}"


def _data(text: str) -> str:
    return harmless(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
