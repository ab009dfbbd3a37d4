"""What the process's exit code says; documented in the README."""

from __future__ import annotations

from collections.abc import Sequence

from harness.records.evaluation import Evaluation
from harness.records.gate import GateReport, Outcome
from harness.records.verdict import Verdict

PASSED = 0
FAILED = 1
USAGE = 2
MACHINE = 3
INCONCLUSIVE = 4
INTERRUPTED = 130


def of_evaluations(evaluations: Sequence[Evaluation]) -> int:
    """A failed solution outweighs everything; then the problem's faults, then what nobody could judge."""
    verdicts = {evaluation.verdict for evaluation in evaluations}
    if any(verdict.blames_solution for verdict in verdicts):
        return FAILED
    if Verdict.INVALID_PROBLEM in verdicts:
        return USAGE
    return MACHINE if verdicts - {Verdict.PASSED} or not verdicts else PASSED


def of_gate(report: GateReport) -> int:
    return _OF_OUTCOMES[report.outcome]


_OF_OUTCOMES: dict[Outcome, int] = {
    "passed": PASSED,
    "failed": FAILED,
    "broken": MACHINE,
    "inconclusive": INCONCLUSIVE,
}
