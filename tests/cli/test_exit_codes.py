"""Exit codes of a run."""

from __future__ import annotations

import pytest

from harness.cli import exit_codes
from harness.records.verdict import Verdict
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
