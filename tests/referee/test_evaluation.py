"""The record of an evaluation, by how judging ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.build import BuildOutcome
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee import evaluation as evaluation_module
from harness.referee.trial import VariedForCopies
from harness.sandbox.outcome import SolutionFailed
from tests.examples import check, comparison, environment
from tests.referee.recorded import recorded
from tests.wording import tells

Evaluate = Callable[..., Evaluation]


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """Gives the evaluation of a solution whose judging is `judge`."""

    def evaluated(judge: Callable[[Any], None], gaps: tuple[str, ...] = ()) -> Evaluation:
        monkeypatch.setattr(evaluation_module._Judging, "in_either_mode", judge)
        workers = SimpleNamespace(host=SimpleNamespace(name="sim"))
        built = BuildOutcome((), None, 0.0, missing=gaps, beyond_simulator=gaps)
        return recorded(tmp_path, workers, replace(environment(), backend="sim"), built)

    return evaluated


@pytest.mark.parametrize(("found", "recorded"), [("bfloat16", "bfloat16"), (None, "float32")])
def test_the_record_has_the_precision_that_the_reference_showed(
    evaluate: Evaluate, found: str | None, recorded: str
) -> None:
    def judge(judging: Any) -> None:
        judging.found.precision = found
        judging.found.checks.append(check(comparison()))

    assert evaluate(judge).problem.precision == recorded


@pytest.mark.parametrize("verdict", [None, Verdict.WRONG_VALUES])
def test_who_has_other_parameters_than_those_that_are_varied_is_judged_without(
    evaluate: Evaluate, verdict: Verdict | None
) -> None:
    def judge(judging: Any) -> None:
        if not judging.job.problem.keeps_parameters:
            raise VariedForCopies(Verdict.UNSUPPORTED, "it has others")
        judging.found.checks.append(check(comparison()))
        if verdict:
            raise SolutionFailed(verdict, "all the same")

    found = evaluate(judge)
    assert found.verdict is (verdict or Verdict.PASSED)
    assert len(found.checks) == 1
    assert tells(found.remarks[0], "parameters", "copy")


@pytest.mark.parametrize(
    ("gaps", "verdict", "expected"),
    [
        (("'one' wasn't built",), Verdict.NO_CUSTOM_KERNEL, Verdict.UNSUPPORTED),
        (("'one' wasn't built",), Verdict.WRONG_VALUES, Verdict.WRONG_VALUES),
        (("'one' wasn't built",), Verdict.CHEATING, Verdict.CHEATING),
        ((), Verdict.NO_CUSTOM_KERNEL, Verdict.NO_CUSTOM_KERNEL),
    ],
)
def test_what_ran_in_place_of_an_extension_that_the_simulator_refused_convicts_nobody(
    evaluate: Evaluate, gaps: tuple[str, ...], verdict: Verdict, expected: Verdict
) -> None:
    def judge(judging: Any) -> None:
        raise SolutionFailed(verdict, "torch did it all")

    found = evaluate(judge, gaps)
    assert found.verdict is expected
    assert found.failure is not None
    wanted = (*gaps, "torch did it all") if expected is Verdict.UNSUPPORTED else ("torch did it all",)
    assert tells(found.failure.reason, *wanted)
