"""The gate's answer: its words for all formats, and the terminal's and programs' forms of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from harness.model.gate import OUTCOMES, Accepted, GateAttempt, GateFinding, GateReport, Judged
from harness.model.plural import several
from harness.model.record import as_json
from harness.reports.blocks import Block, Column, ColumnOf, Line, Prose, Section, Span, Tone, number, table_of
from harness.reports.numbers import format_speedup
from harness.reports.terminal import Report, reporting

NOT_JUDGED = "performance was not judged"
_TONES: dict[str, Tone] = {"failed": "bad", "broken": "odd", "inconclusive": "unsure", "passed": "good"}
_DETAILS, _DETAILS_AT_ONCE = 4000, 1200  # characters


@reporting
def gate_report(report: GateReport, verbose: bool) -> Iterator[Block]:
    """The table, what is wrong, remarks, and the answer in the last line."""
    is_speed_judged = report.not_judged is None
    columns: list[ColumnOf[Judged]] = [
        (Column("solution", is_name=True), lambda one: one.solution),
        (Column("verdict"), verdict_words),
        (Column("of the accepted speed"), lambda one: speed_words(one)[1]),
        (Column("gate"), lambda one: Span(label(one), _TONES[one.outcome])),
    ]
    if not is_speed_judged:
        del columns[2]
    for problem, group in groupby(report.judged, key=lambda judged: judged.problem):
        yield Section(problem, [table_of(group, columns)])
    for judged in report.judged:
        for finding in judged.findings:
            if verbose or finding.level != "remark":
                yield _finding(judged, finding, verbose)
    if report.judged:
        yield Line("")
    for remark in report.remarks:
        yield Line(f"remark: {remark}", "faint")
    for line in setting_lines(report):
        yield Line(line, "unsure" if line.startswith(NOT_JUDGED) else "faint")
    yield Line(headline(report), _TONES[report.outcome])


def gate_json(report: GateReport) -> str:
    """One object: the report's fields, with 'outcome' for the whole and for each solution."""
    judged = [{"outcome": one.outcome, **as_json(one)} for one in report.judged]
    return json.dumps({"outcome": report.outcome, **as_json(report), "judged": judged}, indent=2, allow_nan=False)


def snapshot_table(accepted: Sequence[Accepted]) -> Report:
    """List what a snapshot holds."""
    columns: tuple[ColumnOf[Accepted], ...] = (
        (Column("solution", is_name=True), lambda one: f"{one.problem}/{one.solution}"),
        (Column("on"), lambda one: one.device),
        (Column("verdict"), lambda one: one.verdict.value),
        (number("speed-up [95 %]"), lambda one: format_speedup(one.speedup)),
    )
    return Report([table_of(accepted, columns)])


def headline(report: GateReport) -> str:
    """'gate failed: 7 solutions, 1 failed, 6 passed'."""
    if not report.judged:
        return f"gate {report.outcome}: nothing to judge"
    counts = Counter(judged.outcome for judged in report.judged)
    listed = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    return f"gate {report.outcome}: {several(len(report.judged), 'solution')}, {listed}"


def setting_lines(report: GateReport) -> list[str]:
    """The environment that it was judged in, and what it was judged against."""
    lines = [f"on {report.environment}"] if report.environment else []
    if report.not_judged:
        lines.append(f"{NOT_JUDGED}: {report.not_judged}")
    elif report.snapshot:
        lines.append(f"speed against {report.snapshot}")
    return lines


def label(judged: Judged) -> str:
    """One or two words for a solution."""
    levels = {finding.level for finding in judged.findings}
    if judged.outcome != "passed":
        return judged.outcome
    if "waived" in levels:
        return "waived"
    if "tolerated" in levels:
        return "undecided, allowed"
    return f"passed, {judged.speed}" if judged.speed else "passed"


def verdict_words(judged: Judged) -> str:
    """'passed', 'wrong_values as expected', 'no result'."""
    if judged.verdict is None:
        return "no result"
    as_expected = judged.verdict is judged.expected and not judged.verdict.passed
    return f"{judged.verdict.value}{' as expected' if as_expected else ''}"


def speed_words(judged: Judged) -> tuple[str, str]:
    """The last measurement's speed-up, and that over the accepted one."""
    last = judged.attempts[-1] if judged.attempts else None
    return format_speedup(last.speedup if last else None), format_speedup(last.against_snapshot if last else None)


def measured_words(judged: Judged) -> list[str]:
    """Each attempt's speed-up, where speed was compared or measured more than once."""
    if judged.accepted is None and len(judged.attempts) < 2:
        return []
    accepted = [f"accepted speed-up {format_speedup(judged.accepted)}"] if judged.accepted else []
    return accepted + [_attempt_words(n, attempt) for n, attempt in enumerate(judged.attempts, 1)]


def finding_words(finding: GateFinding) -> list[str]:
    """The finding's lines: what, where, who waived it, what to do next. Untrusted words in them are not yet cleaned."""
    lines = [finding.message, *(f"at {place.file}:{place.line}" for place in finding.places)]
    if waiver := finding.waiver:
        lines.append(f"waived until {waiver.expires} by {waiver.owner}: {waiver.reason}")
    return [*lines, f"next: {finding.next_step}"]


def clipped(text: str, limit: int) -> str:
    """Keep about `limit` characters, with a statement of how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} characters left out"


def _attempt_words(place: int, attempt: GateAttempt) -> str:
    against = f", {format_speedup(attempt.against_snapshot)} of the accepted" if attempt.against_snapshot else ""
    conclusion = f": {attempt.speed}" if attempt.speed else ""
    speedup = f"speed-up {format_speedup(attempt.speedup)}" if attempt.speedup else attempt.verdict.value
    return f"measurement {place}: {speedup}{against}{conclusion}"


def _finding(judged: Judged, finding: GateFinding, verbose: bool) -> Section:
    lines = finding_words(finding)
    if finding.rule in ("regressed", "below_least_speedup", "inconclusive_speed"):
        lines[1:1] = measured_words(judged)
    blocks: list[Block] = [Prose(line) for line in lines]
    if finding.details:
        blocks.append(Prose(clipped(finding.details, _DETAILS if verbose else _DETAILS_AT_ONCE), "faint"))
    return Section(f"{judged.problem}/{judged.solution}: {finding.level} ({finding.rule})", blocks)
