"""The record of a judged problem: what follows from its trials."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from harness.model.check import Tolerance
from harness.model.problem_check import Draw, MutantResult, MutantTrial, ProblemCheck
from harness.model.record import as_json

SMALL = Draw("small", None, (Tolerance(1e-4, 1e-4),), (0.5,), 0.25, True)


def result(*worst: float, **changes: str) -> MutantResult:
    variants = (None, "negative", "few distinct")
    trials = tuple(MutantTrial("small", v, w, w == 0) for v, w in zip(variants, worst, strict=False))
    return MutantResult("zeros", "writes zeros", 0, trials, **changes)


def check(*mutants: MutantResult, **changes: object) -> ProblemCheck:
    return ProblemCheck("relu", "00" * 32, "CPU", 7, (SMALL,), mutants=mutants, **changes)  # type: ignore[arg-type]


def test_one_draw_that_catches_a_mutant_is_enough() -> None:
    found = result(0.5, 7.0, 1.0)
    assert not found.is_let_pass
    assert (found.caught_by, found.missed_by) == (("small, negative",), ("small", "small, few distinct"))
    assert found.worst == 7.0


def test_a_mutant_that_no_draw_catches_is_let_pass_and_needs_advice() -> None:
    assert result(0.5, 1.0, advice="lower the tolerance").is_let_pass
    with pytest.raises(ValueError, match="advice"):
        result(0.5, 1.0)
    with pytest.raises(ValueError, match="advice"):
        result(7.0, advice="lower the tolerance")


def test_a_mutant_that_is_right_here_or_fits_nowhere_is_not_let_pass() -> None:
    assert not result(0.0, harmless="no right answer is negative").is_let_pass
    assert not result().is_let_pass
    assert result().worst is None


def test_a_problem_is_sound_that_was_examined_and_lets_none_pass() -> None:
    assert check(result(7.0)).is_sound
    assert not check(result(0.5, advice="lower the tolerance")).is_sound
    assert not check(result(7.0), complaints=("the reference contradicts itself",)).is_sound
    assert not ProblemCheck("relu", "00" * 32, "CPU", 7).is_sound


def test_it_survives_json() -> None:
    one = check(result(float("inf"), 0.5), skipped={"full": "17 GB"}, remarks=("a remark",))
    assert TypeAdapter(ProblemCheck).validate_python(as_json(one)) == one
