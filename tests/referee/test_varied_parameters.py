"""Solutions of a problem that tells nothing with the parameters of its constructor: a mean after a norm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from harness.model.verdict import Verdict
from harness.referee import correctness, trial
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.found import Found
from harness.referee.inputs import draws
from harness.referee.setting import Setting
from harness.referee.simulated_trial import SimulatedTrial
from harness.referee.trial import VariedForCopies
from harness.sandbox.outcome import SolutionFailed
from tests.problem_text import problem_text
from tests.referee.in_process import InProcessWorker
from tests.referee.mutants.test_telling import NORM
from tests.referee.test_trial import ScriptedAuditor, auditor, trial_of

__all__ = ["auditor"]


class Norm(nn.Module):
    """The reference's layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GroupNorm(2, 300)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x[:, :, None]).mean((1, 2))


class Derives(Norm):
    """Keeps a product of its parameters from the constructor on: the mean of both terms is over one channel."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = float(self.layer.bias.mean())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = functional.group_norm(x[:, :, None], 2)[:, :, 0]
        return normed @ self.layer.weight / 300 + self.offset


class OwnNames(Norm):
    """No parameter has its counterpart."""

    def __init__(self) -> None:
        super().__init__()
        del self.layer
        self.scale, self.shift = nn.Parameter(torch.ones(300)), nn.Parameter(torch.zeros(300))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.group_norm(x[:, :, None], 2, self.scale, self.shift).mean((1, 2))


class OwnConstants(nn.Module):
    """The reference's names, and values of its own from which it derives."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Module()
        self.layer.weight, self.layer.bias = nn.Parameter(torch.ones(300)), nn.Parameter(torch.zeros(300))
        self.offset = float(self.layer.bias.mean())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = functional.group_norm(x[:, :, None], 2)[:, :, 0]
        return normed @ self.layer.weight / 300 + self.offset


class CopiedInTime(OwnConstants):
    """As above, with nothing derived: parameters that are copied later do as well."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, bias = self.layer.weight, self.layer.bias
        return functional.group_norm(x[:, :, None], 2, weight, bias).mean((1, 2))


class Zeros(Norm):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(x))


def failing_with(error: Exception) -> Callable[..., Any]:
    def fail(*_: object) -> None:
        raise error

    return fail


def judged(
    tmp_path: Path, model: type[nn.Module], lessons: dict[Any, Any] | None = None, source: str = NORM
) -> tuple[Verdict, Found]:
    made, found = trial_of(
        tmp_path, lambda: InProcessWorker(model), kind=SimulatedTrial, source=source, lessons=lessons
    )
    try:
        made.check()
    except SolutionFailed as error:
        return error.verdict, found
    return Verdict.PASSED, found


@pytest.mark.parametrize(
    ("model", "verdict"),
    [
        (Norm, Verdict.PASSED),
        (Derives, Verdict.PASSED),
        (CopiedInTime, Verdict.PASSED),
        (Zeros, Verdict.WRONG_VALUES),
        (OwnNames, Verdict.UNSUPPORTED),
        (OwnConstants, Verdict.UNSUPPORTED),
    ],
)
def test_parameters_decide_where_the_solution_has_them(
    tmp_path: Path, auditor: Sequence[ScriptedAuditor], model: type[nn.Module], verdict: Verdict
) -> None:
    found = judged(tmp_path, model)[0]
    assert found is verdict


class OwnStatistics(nn.Module):
    """A batch normalisation whose parameters have other names."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(300)), nn.Parameter(torch.zeros(300))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.batch_norm(x, torch.zeros(300), torch.ones(300), self.scale, self.shift)


def test_who_has_other_parameters_is_told_from_who_is_wrong(tmp_path: Path, auditor: Sequence[ScriptedAuditor]) -> None:
    source = problem_text("self.layer(x)", init="self.layer = nn.BatchNorm1d(300)")
    made, _ = trial_of(tmp_path, lambda: InProcessWorker(OwnStatistics), kind=SimulatedTrial, source=source)
    with pytest.raises(VariedForCopies):
        made.check()


def test_the_record_says_that_parameters_are_varied(tmp_path: Path, auditor: Sequence[ScriptedAuditor]) -> None:
    remarks = judged(tmp_path, Norm)[1].remarks
    assert [("varied" in remark, "mutant zeros" in remark) for remark in remarks if "audited" not in remark] == [
        (True, True)
    ]


def test_variants_are_drawn_before_buffers_take_their_room(
    tmp_path: Path, auditor: Sequence[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    order = []
    for where, name in ((draws, "draw_variants"), (correctness, "open_buffers")):
        known = getattr(where, name)
        monkeypatch.setattr(where, name, lambda *given, name=name, known=known: order.append(name) or known(*given))
    for is_tight in (False, True):
        monkeypatch.setattr(Setting, "is_tight", is_tight)
        assert judged(tmp_path, nn.ReLU, source=problem_text("torch.relu(x)"))[0] is Verdict.PASSED
    assert order == ["open_buffers", "draw_variants", "draw_variants", "open_buffers"]


def test_what_a_case_has_taught_holds_for_the_next_solution_of_the_run(
    tmp_path: Path, auditor: Sequence[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons: dict[Any, Any] = {("another problem",): None}
    first = judged(tmp_path, Norm, lessons)
    assert len(lessons) == 1
    for where, name in ((trial, "telling"), (Setting, "_gathered"), (draws, "draw_variants")):
        monkeypatch.setattr(where, name, lambda *rest, name=name: pytest.fail(f"{name} again"))
    assert judged(tmp_path, Zeros, lessons)[0] is Verdict.WRONG_VALUES
    again = judged(tmp_path, Norm, lessons)
    assert (again[0], again[1].tolerances, again[1].remarks) == (first[0], first[1].tolerances, first[1].remarks)
    (known,) = lessons.values()
    known.is_short = True
    with pytest.raises(pytest.fail.Exception, match="again"):
        judged(tmp_path, Norm, lessons)
    known.is_short = False
    with pytest.raises(pytest.fail.Exception, match="again"):
        judged(tmp_path, Norm, lessons, NORM + "# another text\n")


def test_a_failure_of_the_reference_for_once_is_not_taken_for_a_problem_that_can_not_tell(
    tmp_path: Path, auditor: Sequence[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons: dict[Any, Any] = {}
    with monkeypatch.context() as once:
        once.setattr(trial, "telling", failing_with(InvalidProblem("unable to find an engine")))
        with pytest.raises(InvalidProblem, match="engine"):
            judged(tmp_path, Norm, lessons)
    assert judged(tmp_path, Norm, lessons)[0] is Verdict.PASSED


def test_a_problem_that_can_not_tell_is_asked_once_in_a_run(
    tmp_path: Path, auditor: Sequence[ScriptedAuditor], monkeypatch: pytest.MonkeyPatch
) -> None:
    lessons: dict[Any, Any] = {}
    for _ in range(2):
        with pytest.raises(InvalidProblem, match="mutant zeros"):
            judged(tmp_path, Norm, lessons, problem_text("(x - x.amax()).relu()"))
        monkeypatch.setattr(trial, "telling", lambda *rest: pytest.fail("again"))
