"""Exit codes of a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cli import exit_codes
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from tests.examples import failed, passed

PASSED, WRONG = passed(), failed()
UNSUPPORTED, OURS, THEIR_PROBLEM = (
    failed(verdict=verdict, checks=())
    for verdict in (Verdict.UNSUPPORTED, Verdict.HARNESS_ERROR, Verdict.INVALID_PROBLEM)
)


@pytest.mark.parametrize(
    ("evaluations", "code"),
    [
        ([PASSED, PASSED], 0),
        ([PASSED, WRONG], 1),
        ([OURS, THEIR_PROBLEM, WRONG], 1),
        ([PASSED, THEIR_PROBLEM], 2),
        ([OURS, THEIR_PROBLEM], 2),
        ([PASSED, OURS], 3),
        ([PASSED, UNSUPPORTED], 3),
        ([], 3),
    ],
)
def test_the_worst_verdict_decides(evaluations: list[object], code: int) -> None:
    assert exit_codes.of_evaluations(evaluations) == code  # type: ignore[arg-type]


def expecting(verdict: Verdict, evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, solution=replace(evaluation.solution, expected_verdict=verdict))


@pytest.mark.parametrize(
    ("evaluation", "code"),
    [
        (expecting(Verdict.WRONG_VALUES, WRONG), 0),
        (expecting(Verdict.WRONG_VALUES, PASSED), 1),
        (expecting(Verdict.TIMEOUT, WRONG), 1),
        (expecting(Verdict.WRONG_VALUES, UNSUPPORTED), 3),
        (expecting(Verdict.UNSUPPORTED, UNSUPPORTED), 0),
        (expecting(Verdict.INVALID_PROBLEM, THEIR_PROBLEM), 0),
        (expecting(Verdict.HARNESS_ERROR, OURS), 3),
    ],
)
def test_what_is_expected_is_no_failure(evaluation: Evaluation, code: int) -> None:
    assert exit_codes.of_evaluations([PASSED, evaluation]) == code
