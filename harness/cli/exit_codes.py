"""The process's exit codes; the README documents them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.model.verdict import Verdict

if TYPE_CHECKING:  # `harness --help` needs none of them, and they take 0.05 s
    from harness.model.evaluation import Evaluation
    from harness.model.gate import Outcome
    from harness.model.instruments import Sanitizing
    from harness.model.problem_check import ProblemCheck

PASSED = 0
FAILED = 1
USAGE = 2
MACHINE = 3
INCONCLUSIVE = 4
INTERRUPTED = 130


def of_evaluations(evaluations: Sequence[Evaluation]) -> int:
    """Return the exit code. A verdict that solution.yaml expects is no failure. A failed solution outweighs everything,
    an expected failure that passes is one; then come the problem's faults, then what nobody could judge."""
    verdicts = {e.verdict for e in evaluations if e.verdict is not e.solution.expected_verdict}
    if any(verdict.blames_solution or verdict.passed for verdict in verdicts):
        return FAILED
    if Verdict.INVALID_PROBLEM in verdicts:
        return USAGE
    ours = any(e.verdict is Verdict.HARNESS_ERROR for e in evaluations)  # whatever is expected
    return MACHINE if verdicts or ours or not evaluations else PASSED


def of_problems(checks: Sequence[ProblemCheck]) -> int:
    """A wrong answer that is let pass outweighs a problem that nobody could examine here."""
    if any(check.let_pass or check.complaints for check in checks):
        return FAILED
    return PASSED if all(check.was_examined for check in checks) else MACHINE


def of_sanitizing(sanitizing: Sanitizing) -> int:
    """A fault that was found outweighs a tool that couldn't look."""
    if sanitizing.own:
        return FAILED
    return PASSED if sanitizing.is_whole else MACHINE


OF_OUTCOMES: dict[Outcome, int] = {
    "passed": PASSED,
    "failed": FAILED,
    "broken": MACHINE,
    "inconclusive": INCONCLUSIVE,
}
