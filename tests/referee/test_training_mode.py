"""Whose values are right in training mode alone: a batch normalisation with the batch's own statistics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee import evaluation as evaluation_module
from harness.referee.answers.reference import InvalidProblem, keeps_statistics
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.construction import take_batch_statistics
from harness.workspace.problem import load_problem
from tests.examples import check, comparison
from tests.files import laid
from tests.problem_text import problem_text
from tests.referee.recorded import recorded

KEEPS = "BatchNorm2d(3)"
WRONG = SolutionFailed(Verdict.WRONG_VALUES, "wrong in eval()")


def norm(layer: str) -> str:
    return problem_text("self.norm(x)", "torch.rand(4, 3, 8, 8)", f"self.norm = nn.{layer}")


@pytest.mark.parametrize(
    ("layer", "keeps"),
    [
        (KEEPS, True),
        ("InstanceNorm2d(3, track_running_stats=True)", True),
        ("InstanceNorm2d(3)", False),
        ("BatchNorm2d(3, track_running_stats=False)", False),
        ("Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3))", True),
        ("Sequential(nn.BatchNorm2d(3), *[nn.ReLU() for _ in torch.zeros(1).tolist()])", True),
        ("GroupNorm(1, 3)", False),
    ],
)
def test_layers_that_keep_statistics_are_known(tmp_path: Path, layer: str, keeps: bool) -> None:
    assert keeps_statistics(load_problem(laid(tmp_path, {"problem.py": norm(layer)})), "full") is keeps


def evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str, judge: Callable[[bool], None]
) -> tuple[Evaluation, list[bool]]:
    """An evaluation whose trial is `judge`, told of the mode; and the modes that it was asked for."""
    modes: list[bool] = []

    def run(judging: Any) -> None:
        trains = judging.job.problem.batch_statistics
        judging.found.case = "full"
        judging.found.remarks.append(f"trains: {trains}")
        modes.append(trains)
        judge(trains)
        judging.found.checks.append(check(comparison()))

    monkeypatch.setattr(evaluation_module._Judging, "or_blame", run)
    workers = SimpleNamespace(host=SimpleNamespace(name="cuda"))
    return recorded(tmp_path, workers, source=norm(layer)), modes


def test_who_is_right_in_training_mode_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(trains: bool) -> None:
        if not trains:
            raise WRONG

    found, modes = evaluated(tmp_path, monkeypatch, KEEPS, judge)
    assert (found.verdict, modes) == (Verdict.PASSED, [False, True])
    assert found.remarks[1] == "trains: True"
    assert "training mode" in found.remarks[0]


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.NONDETERMINISTIC])
def test_wrong_values_under_another_verdict_are_tried_again_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    def judge(trains: bool) -> None:
        if not trains:
            raise SolutionFailed(verdict, "fits the full shape only, or is wrong at times") from WRONG

    assert evaluated(tmp_path, monkeypatch, KEEPS, judge)[0].verdict is Verdict.PASSED


@pytest.mark.parametrize("verdict", [Verdict.CHEATING, Verdict.UNSUPPORTED])
def test_whatever_else_is_found_in_training_mode_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    def judge(trains: bool) -> None:
        raise SolutionFailed(verdict, "in training mode") if trains else WRONG

    assert evaluated(tmp_path, monkeypatch, KEEPS, judge)[0].verdict is verdict


@pytest.mark.parametrize(
    "later", [SolutionFailed(Verdict.WRONG_VALUES, "there, too"), InvalidProblem("overflows in training mode")]
)
def test_who_is_wrong_in_both_modes_is_told_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: Exception
) -> None:
    def judge(trains: bool) -> None:
        raise later if trains else WRONG

    found, modes = evaluated(tmp_path, monkeypatch, KEEPS, judge)
    assert (found.verdict, modes) == (Verdict.WRONG_VALUES, [False, True])
    assert found.failure is not None
    assert found.failure.reason == "wrong in eval()"
    assert found.remarks == ("trains: False",)


@pytest.mark.parametrize(
    ("layer", "error"), [("GroupNorm(1, 3)", WRONG), (KEEPS, SolutionFailed(Verdict.CHEATING, "cheats"))]
)
def test_others_are_judged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str, error: SolutionFailed
) -> None:
    def judge(trains: bool) -> None:
        raise error

    found, modes = evaluated(tmp_path, monkeypatch, layer, judge)
    assert (found.verdict, modes) == (error.verdict, [False])


def test_what_was_kept_stays_and_the_batch_s_is_taken() -> None:
    norm, dropout = nn.BatchNorm1d(3), nn.Dropout(0.5)
    take_batch_statistics(nn.Sequential(norm, dropout).eval())
    normed = dropout(norm(torch.randn(64, 3) + 9))
    assert torch.allclose(normed.mean(0), torch.zeros(3), atol=1e-5)
    assert torch.equal(norm.running_mean, torch.zeros(3))
    assert "running_mean" in norm.state_dict()
