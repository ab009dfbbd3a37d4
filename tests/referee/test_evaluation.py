"""The record of an evaluation, by how judging ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

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
from tests.referee.in_process import job_of
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

    def evaluated(
        judge: Callable[[Any], None], missing: tuple[str, ...] = (), backend: Literal["sim", "cuda"] = "sim"
    ) -> Evaluation:
        monkeypatch.setattr(evaluation_module._Judging, "in_either_mode", judge)
        (task,) = select_tasks(Workspace(tmp_path))
        workers: Any = SimpleNamespace(host=SimpleNamespace(name=backend))
        built = BuildOutcome((), None, 0.0, missing=missing)
        where = replace(environment(), backend=backend)
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


@pytest.mark.parametrize(("found", "recorded"), [(5, 5), (None, 1)])
def test_the_record_has_the_seed_of_the_last_try(evaluate: Evaluate, found: int | None, recorded: int) -> None:
    def judge(judging: Any) -> None:
        judging.found.seed = found
        judging.found.checks.append(check(comparison()))

    assert evaluate(judge).seed == recorded


def test_another_try_has_another_seed(tmp_path: Path) -> None:
    (tmp_path / "problem.py").write_text(DOUBLE)
    job = job_of(tmp_path, ("full",), Config())
    tries = [replace(job, outages=("the disk is full",) * number).master_seed for number in range(3)]
    assert tries[0] == job.seed
    assert len(set(tries)) == 3


@pytest.mark.parametrize(
    ("backend", "missing", "verdict", "expected"),
    [
        ("sim", ("'one' wasn't built",), Verdict.NO_CUSTOM_KERNEL, Verdict.UNSUPPORTED),
        ("sim", ("'one' wasn't built",), Verdict.WRONG_VALUES, Verdict.UNSUPPORTED),
        ("sim", ("'one' wasn't built",), Verdict.CHEATING, Verdict.CHEATING),
        ("sim", (), Verdict.NO_CUSTOM_KERNEL, Verdict.NO_CUSTOM_KERNEL),
        ("cuda", ("'one' wasn't built",), Verdict.NO_CUSTOM_KERNEL, Verdict.NO_CUSTOM_KERNEL),
    ],
)
def test_what_ran_in_place_of_an_extension_that_the_simulator_refused_convicts_nobody(
    evaluate: Evaluate,
    backend: Literal["sim", "cuda"],
    missing: tuple[str, ...],
    verdict: Verdict,
    expected: Verdict,
) -> None:
    def judge(judging: Any) -> None:
        raise SolutionFailed(verdict, "torch did it all")

    found = evaluate(judge, missing, backend)
    assert found.verdict is expected
    assert found.failure is not None
    wanted = (*missing, "torch did it all") if expected is Verdict.UNSUPPORTED else ("torch did it all",)
    assert tells(found.failure.reason, *wanted)
