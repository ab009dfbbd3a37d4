"""What nvcc's word makes of the simulator's."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.builder.build import BuildOutcome, CompilerRefused
from harness.builder.nvcc_check import Opinion
from harness.builder.second_opinion import of_build, of_evaluation, with_remarks
from harness.model.build import ExtensionBuild, KernelResources, NvccCheck
from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import ExtensionReport
from tests.examples import failed, passed, sim_environment

KEY = "ab" * 16
BUILD = ExtensionBuild("pool", KEY, False, 3.0, "/logs/pool.log")
KERNEL = KernelResources("void k<float>(float*)", "sm_90", 40, 1024, 0, 0, 0, 540)
SPILLS = KernelResources("heavy(float*)", "sm_90", 255, 0, 96, 128, 176, 540)


def opinion(outcome: str, words: str = "", kernels: tuple[KernelResources, ...] = ()) -> dict[str, Opinion]:
    check = NvccCheck(outcome, "13.0.88", ("sm_90",), 9.5, False, words)  # type: ignore[arg-type]
    return {KEY: Opinion(check, kernels)}


def refused(verdict: Verdict, nvcc_knows: bool = True) -> BuildOutcome:
    report = ExtensionReport("pool", KEY, False, False, 2.0)
    error = CompilerRefused(verdict, report, "inline PTX (asm) at line 12", Path("/logs/pool.log"), nvcc_knows)
    return BuildOutcome((BUILD,), error, 2.5)


BUILT = BuildOutcome((BUILD,), None, 2.5)


ACCEPTED = opinion("accepted", kernels=(KERNEL,))
REFUSED = opinion("refused", 'cuda.cu(9): error: identifier "x" is undefined\n    x = 1;')
UNCHECKED = opinion("unchecked", "a header isn't here: cuda.cu:3: thing.h")


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.COMPILE_ERROR])
def test_what_nvcc_compiles_is_the_simulator_s_gap(verdict: Verdict) -> None:
    outcome = of_build(refused(verdict), ACCEPTED)
    assert isinstance(outcome.failed, SolutionFailed)
    assert outcome.failed.verdict is Verdict.UNSUPPORTED
    for fact in ("extension 'pool'", "inline PTX (asm) at line 12", "nvcc 13.0.88 compiles", "sm_90"):
        assert fact in outcome.failed.failure.reason
    assert "k<float> (sm_90): 40 registers, 1024 B shared" in (outcome.failed.failure.details or "")
    assert outcome.builds[0].kernels == (KERNEL,)
    assert outcome.builds[0].nvcc == ACCEPTED[KEY].check


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.COMPILE_ERROR])
def test_what_nvcc_refuses_too_is_a_compile_error_in_its_words(verdict: Verdict) -> None:
    outcome = of_build(refused(verdict), REFUSED)
    assert isinstance(outcome.failed, SolutionFailed)
    assert outcome.failed.verdict is Verdict.COMPILE_ERROR
    reason = outcome.failed.failure.reason
    assert reason.startswith("extension 'pool' ")
    assert reason.endswith('nvcc 13.0.88: cuda.cu(9): error: identifier "x" is undefined')


@pytest.mark.parametrize("opinions", [UNCHECKED, {}])
@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.COMPILE_ERROR])
def test_without_nvcc_s_word_the_simulator_s_stands(verdict: Verdict, opinions: dict[str, Opinion]) -> None:
    before = refused(verdict)
    assert of_build(before, opinions).failed is before.failed


def test_error_in_cpp_sources_is_no_question_for_nvcc() -> None:
    before = refused(Verdict.COMPILE_ERROR, nvcc_knows=False)
    assert of_build(before, ACCEPTED).failed is before.failed


def test_refusal_beside_a_simulation_is_the_verdict() -> None:
    simulated = passed(environment=sim_environment(), builds=(BUILD,))
    evaluation = of_evaluation(simulated, BUILT, REFUSED)
    assert evaluation.verdict is Verdict.COMPILE_ERROR
    assert evaluation.failure is not None
    assert "nvcc 13.0.88" in evaluation.failure.reason
    assert evaluation.stages_s["nvcc"] == 9.5


@pytest.mark.parametrize("verdict", [Verdict.WRONG_VALUES, Verdict.MEMORY_ERROR, Verdict.UNSUPPORTED])
def test_refusal_comes_before_what_the_simulator_found(verdict: Verdict) -> None:
    simulated = failed(verdict=verdict, environment=sim_environment(), builds=(BUILD,))
    assert of_evaluation(simulated, BUILT, REFUSED).verdict is Verdict.COMPILE_ERROR


def test_our_own_failure_is_not_made_the_solution_s() -> None:
    simulated = failed(verdict=Verdict.HARNESS_ERROR, environment=sim_environment(), builds=(BUILD,))
    assert of_evaluation(simulated, BUILT, REFUSED).verdict is Verdict.HARNESS_ERROR


def test_acceptance_adds_resources_and_changes_no_verdict() -> None:
    evaluation = of_evaluation(passed(environment=sim_environment(), builds=(BUILD,)), BUILT, ACCEPTED)
    assert evaluation.verdict is Verdict.PASSED
    assert evaluation.builds[0].kernels == (KERNEL,)
    assert evaluation.remarks == ()


def test_what_could_not_be_checked_is_remarked_on() -> None:
    evaluation = of_evaluation(passed(environment=sim_environment(), builds=(BUILD,)), BUILT, UNCHECKED)
    assert evaluation.verdict is Verdict.PASSED
    (remark,) = evaluation.remarks
    assert remark.startswith("extension 'pool': nvcc 13.0.88 ")
    assert remark.endswith("cuda.cu:3: thing.h")


def test_spilled_registers_are_remarked_on() -> None:
    simulated = passed(environment=sim_environment(), builds=(BUILD,))
    evaluation = of_evaluation(simulated, BUILT, opinion("accepted", kernels=(SPILLS, KERNEL)))
    (remark,) = evaluation.remarks
    assert remark.startswith("heavy (sm_90): 255 registers, 96/128 B spilled")


def test_time_of_what_was_kept_is_not_counted() -> None:
    check = NvccCheck("accepted", "13.0.88", ("sm_90",), 9.5, True)
    evaluation = with_remarks(passed(environment=sim_environment()), {KEY: Opinion(check)})
    assert evaluation.stages_s["nvcc"] == 0.0
