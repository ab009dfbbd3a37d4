"""What every report of a gate says in the same words."""

from __future__ import annotations

from harness.records.gate import OUTCOMES, Attempt, GateFinding, GateReport, Judged
from harness.reports.numbers import format_speedup

NOT_JUDGED = "performance was not judged"


def headline(report: GateReport) -> str:
    """'gate failed: 7 solutions, 1 failed, 6 passed'."""
    if not report.judged:
        return f"gate {report.outcome}: nothing to judge"
    counts = [(len(report.with_outcome(outcome)), outcome) for outcome in OUTCOMES]
    listed = ", ".join(f"{count} {outcome}" for count, outcome in counts if count)
    return f"gate {report.outcome}: {counted(len(report.judged), 'solution')}, {listed}"


def setting_lines(report: GateReport) -> list[str]:
    """Where it was judged, and against what."""
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
    return judged.verdict.value + (" as expected" if as_expected else "")


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


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def clipped(text: str, limit: int) -> str:
    """At most about `limit` characters, with a statement of how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} characters left out"


def _attempt_words(number: int, attempt: Attempt) -> str:
    against = f", {format_speedup(attempt.against_snapshot)} of the accepted" if attempt.against_snapshot else ""
    conclusion = f": {attempt.speed}" if attempt.speed else ""
    speedup = f"speed-up {format_speedup(attempt.speedup)}" if attempt.speedup else attempt.verdict.value
    return f"measurement {number}: {speedup}{against}{conclusion}"
