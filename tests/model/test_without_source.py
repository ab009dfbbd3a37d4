"""Records without the solution's texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.model.build import NvccCheck
from harness.model.evaluation import Evaluation, without_source
from harness.model.verdict import Verdict
from harness.store.journal import Journal
from harness.store.line import to_line
from tests.examples import build, failed, passed, timing

TEXT = "quoted from solution.py"


def with_texts(evaluation: Evaluation) -> Evaluation:
    solution = replace(evaluation.solution, files={"solution.py": TEXT}, explanation=TEXT)
    refused = NvccCheck("refused", "13.0.88", ("90",), 2.0, False, TEXT, TEXT)
    failure = evaluation.failure and replace(evaluation.failure, details=TEXT)
    return replace(
        evaluation, solution=solution, builds=(replace(build(), output=TEXT, nvcc=refused),), failure=failure
    )


def test_nothing_that_quotes_the_solution_is_left() -> None:
    full = with_texts(failed(verdict=Verdict.RUNTIME_ERROR, checks=()))
    assert TEXT in to_line(full)
    assert TEXT not in to_line(without_source(full))


def test_verdict_numbers_and_identity_stay() -> None:
    full = with_texts(passed(timing=timing()))
    bare = without_source(full)
    assert (bare.key, bare.verdict, bare.timing, bare.checks) == (full.key, full.verdict, full.timing, full.checks)
    assert bare.solution.sha256 == full.solution.sha256
    assert bare.builds[0].nvcc is not None
    assert bare.builds[0].nvcc.outcome == "refused"


def test_a_journal_that_keeps_no_source_writes_none(tmp_path: Path) -> None:
    path = Journal(tmp_path, "run", keeps_source=False).append(with_texts(failed()))
    assert TEXT not in path.read_text()
