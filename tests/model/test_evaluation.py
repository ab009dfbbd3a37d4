"""Evaluations: illegal combinations can't be built."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from harness.model.build import CompiledBaseline
from harness.model.check import Tolerance
from harness.model.config import Config, TimingConfig
from harness.model.evaluation import Evaluation, Failure, Work
from harness.model.record import as_json
from harness.model.verdict import Verdict
from tests.examples import (
    check,
    comparison,
    environment,
    failed,
    far_out,
    passed,
    sim_environment,
    timing,
    wrong_comparison,
)

COMPILED = CompiledBaseline("compile", 5.0, 1, 0, 0)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"checks": ()}, "nothing passes unchecked"),
        ({"checks": (check(), check(comparison(), wrong_comparison()))}, "failed check"),
        ({"fragile": (replace(check(), variant="rescaled (times 2^20)"),)}, "fragile"),
        ({"failure": Failure("it broke", "mend it")}, "have a failure"),
        ({"environment": sim_environment(), "timing": timing()}, "simulated"),
        ({"compiled": (COMPILED,)}, "baseline"),
        ({"compiled": (COMPILED,), "timing": timing()}, "baseline"),
        ({"schema": 1}, r"schema 1 .*3"),
    ],
)
def test_what_passed_has_no_such_facts(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        passed(**facts)


def test_what_is_fragile_passes_with_the_checks_that_failed() -> None:
    assert passed(fragile=(far_out(),)).fragile[0].outputs[0].mismatches == 1
    assert TypeAdapter(Evaluation).validate_python(as_json(passed(fragile=(far_out(),)))).fragile == (far_out(),)


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.PASSED])
def test_what_did_not_pass_has_a_failure(verdict: Verdict) -> None:
    with pytest.raises(ValueError, match="have a failure"):
        failed(verdict=verdict, failure=None)


def test_only_what_passed_is_timed() -> None:
    with pytest.raises(ValueError, match="only what passed"):
        failed(timing=timing())


@pytest.mark.parametrize("example", [passed(timing=timing()), failed(), passed(environment=sim_environment())])
def test_legal_combinations_are_built(example: Evaluation) -> None:
    assert example.schema == 3


def test_an_evaluation_does_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        passed().verdict = Verdict.CHEATING  # type: ignore[misc]


def test_the_key_tells_questions_apart_and_nothing_else() -> None:
    key = passed().key
    assert re.fullmatch("[0-9a-f]{16}", key)
    assert passed(id="other", run="other", seed=1, started_at="2027-01-01T00:00:00.000+00:00").key == key
    assert failed(solution=passed().solution).key == key
    assert passed(cases=("small", "full")).key == key


@pytest.mark.parametrize(
    "change",
    [
        {"problem": replace(passed().problem, sha256="0" * 64)},
        {"solution": replace(passed().solution, sha256="0" * 64)},
        {"solution": replace(passed().solution, name="other")},
        {"cases": ("full",)},
        {"config": Config(timing=TimingConfig(blocks=13))},
        {"environment": environment(gpu="NVIDIA H200")},
        {"environment": environment(harness="0.0.1")},
    ],
)
def test_another_question_has_another_key(change: dict[str, Any]) -> None:
    assert passed(**change).key != passed().key


def test_the_commit_has_no_part_in_the_key() -> None:
    assert passed(environment=environment(commit=None)).key == passed().key


def test_worst_is_the_largest_over_all_checks() -> None:
    assert passed(checks=(check(comparison(worst=0.25), comparison(worst=0.5)), check())).worst == 0.5


def test_worst_is_absent_where_nothing_was_compared() -> None:
    assert failed(checks=()).worst is None


@pytest.mark.parametrize(
    ("verdict", "blames"),
    [
        (Verdict.PASSED, False),
        (Verdict.UNSUPPORTED, False),
        (Verdict.INVALID_PROBLEM, False),
        (Verdict.HARNESS_ERROR, False),
        (Verdict.WRONG_VALUES, True),
        (Verdict.CHEATING, True),
        (Verdict.TIMEOUT, True),
    ],
)
def test_a_verdict_says_whether_it_blames_the_solution(verdict: Verdict, blames: bool) -> None:
    assert verdict.blames_solution is blames


def test_verdicts_are_the_closed_list_of_the_design() -> None:
    assert " ".join(verdict.value for verdict in Verdict) == (
        "passed compile_error load_error runtime_error memory_error out_of_memory timeout crashed wrong_output_type "
        "wrong_shape wrong_dtype wrong_values nondeterministic cheating no_custom_kernel unsupported invalid_problem "
        "harness_error"
    )


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_a_meaning(verdict: Verdict) -> None:
    assert len(verdict.meaning) > 10


@pytest.mark.parametrize(("bounds", "is_exact"), [((0, 0), True), ((1e-9, 0), False), ((0, 1e-9), False)])
def test_a_tolerance_of_nothing_is_exact(bounds: Any, is_exact: bool) -> None:
    assert Tolerance(*bounds).is_exact is is_exact


@pytest.mark.parametrize("bounds", [(-1e-9, 0.0), (0.0, -1.0), (float("nan"), 0.0), (float("inf"), 0.0)])
def test_a_tolerance_is_finite_and_not_negative(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValidationError):
        Tolerance(*bounds)


@pytest.mark.parametrize(
    ("least_bytes", "operations"), [(0, None), (-5, 0), (8, 0), (8, -1), (2**63, None), (8, 2**63)]
)
def test_impossible_work_cannot_be_built(least_bytes: int, operations: int | None) -> None:
    with pytest.raises(ValidationError):
        Work(least_bytes, operations)


@pytest.mark.parametrize("stage", ["build", "simulator"])
def test_nothing_passes_before_a_gpu(stage: Any) -> None:
    assert failed(decided_by=stage).decided_by == stage
    assert passed(decided_by="device").decided_by == "device"
    with pytest.raises(ValidationError, match="passes"):
        passed(decided_by=stage)
