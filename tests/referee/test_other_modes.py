"""Who is right only as KernelBench runs modules: in training mode, and with parameters that it only seeds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.reference import keeps_statistics
from harness.referee.judging import Judging
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


def failing(verdict: Verdict, cause: SolutionFailed | None = None) -> SolutionFailed:
    error = SolutionFailed(verdict, f"{verdict} there")
    error.__cause__ = cause
    return error


RACES = failing(Verdict.NONDETERMINISTIC, WRONG)
NOT_ASKED = Exception("training mode isn't asked for")


@pytest.mark.parametrize(
    ("layer", "in_eval", "in_training", "verdict", "remarks"),
    [
        (KEEPS, WRONG, None, Verdict.PASSED, ["training mode", "trains: True"]),
        (KEEPS, failing(Verdict.UNSUPPORTED, WRONG), None, Verdict.PASSED, ["training mode", "trains: True"]),
        (KEEPS, RACES, None, Verdict.PASSED, ["training mode", "trains: True"]),
        (KEEPS, WRONG, failing(Verdict.CHEATING), Verdict.CHEATING, ["training mode", "trains: True"]),
        (KEEPS, WRONG, failing(Verdict.UNSUPPORTED), Verdict.UNSUPPORTED, ["training mode", "trains: True"]),
        (KEEPS, WRONG, failing(Verdict.WRONG_VALUES), Verdict.WRONG_VALUES, ["trains: False"]),
        (KEEPS, WRONG, RACES, Verdict.NONDETERMINISTIC, ["training mode", "trains: True"]),
        (KEEPS, failing(Verdict.UNSUPPORTED, WRONG), RACES, Verdict.UNSUPPORTED, ["trains: False"]),
        (KEEPS, WRONG, InvalidProblem("overflows"), Verdict.WRONG_VALUES, ["trains: False"]),
        (KEEPS, failing(Verdict.CHEATING), NOT_ASKED, Verdict.CHEATING, ["trains: False"]),
        ("GroupNorm(1, 3)", WRONG, NOT_ASKED, Verdict.WRONG_VALUES, ["trains: False"]),
    ],
)
def test_who_is_wrong_in_eval_is_judged_in_training_mode_too_and_told_of_the_better_one(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    layer: str,
    in_eval: Exception,
    in_training: Exception | None,
    verdict: Verdict,
    remarks: list[str],
) -> None:
    modes: list[bool] = []

    def run(judging: Any) -> None:
        trains = judging.job.problem.batch_statistics
        judging.found.case = "full"
        judging.found.remarks.append(f"trains: {trains}")
        modes.append(trains)
        if error := in_training if trains else in_eval:
            raise error
        judging.found.checks.append(check(comparison()))

    monkeypatch.setattr(Judging, "or_blame", run)
    workers = SimpleNamespace(host=SimpleNamespace(name="cuda"))
    found = recorded(tmp_path, workers, source=norm(layer))
    assert (found.verdict, modes) == (verdict, [False] if in_training is NOT_ASKED else [False, True])
    assert [word in said for word, said in zip(remarks, found.remarks, strict=True)] == [True] * len(remarks)
    if verdict is Verdict.WRONG_VALUES:
        assert found.failure is not None
        assert found.failure.reason == "wrong in eval()"


OWN, BATCH, BOTH = (True, False), (False, True), (True, True)


@pytest.mark.parametrize(
    ("layer", "replaced", "right_in", "tried"),
    [
        (KEEPS, True, OWN, [OWN]),
        (KEEPS, True, BATCH, [OWN, BATCH]),
        (KEEPS, True, BOTH, [OWN, BATCH, BOTH]),
        (KEEPS, True, None, [OWN, BATCH, BOTH]),
        (KEEPS, False, OWN, [BATCH]),
        ("GroupNorm(1, 3)", True, OWN, [OWN]),
        ("GroupNorm(1, 3)", True, None, [OWN]),
        ("GroupNorm(1, 3)", False, OWN, []),
    ],
)
def test_whose_parameters_had_other_values_is_judged_with_these_too_on_other_inputs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    layer: str,
    replaced: bool,
    right_in: tuple[bool, bool] | None,
    tried: list[tuple[bool, bool]],
) -> None:
    modes: list[tuple[bool, bool]] = []
    tries = []

    def run(judging: Any) -> None:
        problem = judging.job.problem
        modes.append((problem.own_parameters, problem.batch_statistics))
        tries.append((judging.job.tries, *judging.job.again))
        judging.found.case, judging.found.replaced = "full", replaced
        if modes[-1] != right_in:
            raise SolutionFailed(Verdict.WRONG_VALUES, f"wrong in {modes[-1]}")
        judging.found.checks.append(check(comparison()))

    monkeypatch.setattr(Judging, "or_blame", run)
    found = recorded(tmp_path, SimpleNamespace(host=SimpleNamespace(name="cuda")), source=norm(layer))
    assert modes == [(False, False), *tried]
    assert len({(1,), *tries}) == 1 + len(modes)  # the other one is that of a solution which was begun anew
    if right_in in tried:
        assert found.verdict is Verdict.PASSED
        said = ["constructor makes" in " ".join(found.remarks), "training mode" in " ".join(found.remarks)]
        assert tuple(said) == right_in
    else:
        assert found.failure is not None
        assert (found.verdict, found.failure.reason) == (Verdict.WRONG_VALUES, "wrong in (False, False)")


def test_what_was_kept_stays_and_the_batch_s_is_taken() -> None:
    norm, dropout = nn.BatchNorm1d(3), nn.Dropout(0.5)
    take_batch_statistics(nn.Sequential(norm, dropout).eval())
    normed = dropout(norm(torch.randn(64, 3) + 9))
    assert torch.allclose(normed.mean(0), torch.zeros(3), atol=1e-5)
    assert torch.equal(norm.running_mean, torch.zeros(3))
    assert "running_mean" in norm.state_dict()
