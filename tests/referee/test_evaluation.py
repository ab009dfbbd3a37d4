"""The record of an evaluation, by how judging ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.build import BuildOutcome
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee import evaluation as evaluation_module
from harness.referee.job import make_job
from harness.sandbox.outcome import SolutionFailed
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.examples import check, comparison, environment
from tests.referee.test_correctness import DOUBLE
from tests.wording import tells

Evaluate = Callable[..., Evaluation]


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """Gives the evaluation of a solution whose judging is `judge`."""
    for kind, name, text in (("problems", "problem", DOUBLE), ("solutions", "own/solution", "class ModelNew: ...")):
        file = tmp_path / kind / "p" / f"{name}.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)

    def evaluated(judge: Callable[[Any], None], gaps: tuple[str, ...] = ()) -> Evaluation:
        monkeypatch.setattr(evaluation_module._Judging, "in_either_mode", judge)
        (task,) = select_tasks(Workspace(tmp_path))
        workers: Any = SimpleNamespace(host=SimpleNamespace(name="sim"))
        built = BuildOutcome((), None, 0.0, missing=gaps, beyond_simulator=gaps)
        where = replace(environment(), backend="sim")
        return evaluation_module.evaluate(make_job("run", task, Config(), 1), workers, where, built)

    return evaluated


@pytest.mark.parametrize(("found", "recorded"), [("bfloat16", "bfloat16"), (None, "float32")])
def test_the_record_has_the_precision_that_the_reference_showed(
    evaluate: Evaluate, found: str | None, recorded: str
) -> None:
    def judge(judging: Any) -> None:
        judging.found.precision = found
        judging.found.checks.append(check(comparison()))

    assert evaluate(judge).problem.precision == recorded


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
