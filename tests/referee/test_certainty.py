"""Which verdicts of the simulator end an evaluation before a GPU, and which are no proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.model.check import Check, OutputComparison, Tolerance
from harness.model.config import Config
from harness.model.evaluation import Evaluation, Failure, SolutionRef
from harness.model.verdict import Verdict
from harness.referee.certainty import is_certain
from tests.examples import check, comparison, failed, passed, sim_environment

DERIVED = Tolerance(1e-4, 1e-4, 0.0)


def wrong(**changes: Any) -> OutputComparison:
    """An output that is off by 3,000 tolerances of a ten thousandth of the local scale."""
    facts: dict[str, Any] = {"mismatches": 4, "worst": 3000.0, "tolerance": DERIVED}
    return comparison(**{**facts, **changes})


def simulated(verdict: Verdict, reason: str = "it failed", *checks: Check, case: str | None = "full") -> Evaluation:
    return failed(
        verdict=verdict,
        failure=Failure(reason, "mend it", case),
        checks=checks,
        environment=sim_environment(),
        config=Config().but("correctness", sanitize=True),
    )


def of_values(case: str = "full", variant: str | None = None, **changes: Any) -> Evaluation:
    one = replace(check(wrong(**changes)), case=case, variant=variant)
    return simulated(Verdict.WRONG_VALUES, "wrong", one, case=case)


def test_values_far_off_at_drawn_inputs_are_certain() -> None:
    assert is_certain(of_values())


@pytest.mark.parametrize(
    "uncertain",
    [
        of_values(case="shrunk"),
        of_values(variant="negative"),
        of_values(worst=7.0, tolerance=Tolerance(0.1, 0.1)),  # a GPU's tolerance may be as much wider
        of_values(worst=100.0),  # one hundredth of the scale, as a convolution in tf32 may err
        of_values(worst=float("inf")),  # NaN, as in memory that nobody wrote
    ],
)
def test_values_that_a_gpu_may_see_otherwise_are_not(uncertain: Evaluation) -> None:
    assert not is_certain(uncertain)


def test_a_tolerance_without_a_relative_part_is_the_problems_own() -> None:
    assert is_certain(of_values(worst=9.0, tolerance=Tolerance(0.5, 0.0)))


def test_half_precision_allows_for_more() -> None:
    near = of_values(worst=300.0)  # 0.03 local scales
    assert is_certain(near)
    assert not is_certain(replace(near, problem=replace(near.problem, precision="bfloat16")))


def test_the_fast_build_is_no_proof() -> None:
    """It sees wrong values where the checked one sees the race."""
    assert not is_certain(replace(of_values(), config=Config()))


def test_wrong_values_that_were_not_compared_are_not_certain() -> None:
    assert not is_certain(simulated(Verdict.WRONG_VALUES, "unwritten-output in pool"))


@pytest.mark.parametrize("verdict", [Verdict.WRONG_SHAPE, Verdict.WRONG_DTYPE, Verdict.WRONG_OUTPUT_TYPE])
def test_a_wrong_form_is_certain_at_the_first_call(verdict: Verdict) -> None:
    assert is_certain(simulated(verdict))
    assert not is_certain(simulated(verdict, "with negative inputs: got", replace(check(), case="full")))
    assert not is_certain(simulated(verdict, case="shrunk"))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("SyntaxError on import of solution.py: invalid syntax", True),
        ("NameError in ModelNew(*init_inputs): name 'f' is not defined", True),
        ("AttributeError on import of solution.py: solution.py defines no class 'ModelNew'", True),
        ("AttributeError on import of solution.py: solution.py defines no class 'ModelNew', but Model", True),
        ("AttributeError on import of solution.py: module 'torch.cuda' has no attribute 'nvtx'", False),
        ("RuntimeError in ModelNew(*init_inputs): not implemented for 'cuda'", False),
    ],
)
def test_of_load_errors_those_are_certain_that_follow_from_the_text(reason: str, expected: bool) -> None:
    assert is_certain(simulated(Verdict.LOAD_ERROR, reason, case=None)) is expected


def test_a_name_that_nothing_defines_is_certain_in_a_call_too() -> None:
    assert is_certain(simulated(Verdict.RUNTIME_ERROR, "NameError in forward(): name 'f' is not defined"))
    assert not is_certain(simulated(Verdict.RUNTIME_ERROR, "barrier-divergence in pool at line 3"))


@pytest.mark.parametrize(("case", "expected"), [("full", True), ("shrunk", False), (None, False)])
def test_what_triton_refuses_is_certain_at_a_shape_of_the_problem_s_own(case: str | None, expected: bool) -> None:
    reason = "a Triton kernel doesn't compile: solution.py:3: arange's range must be a power of 2, at: tl.arange(0, n)"
    assert is_certain(simulated(Verdict.COMPILE_ERROR, reason, case=case)) is expected


@pytest.mark.parametrize(
    "verdict",
    [
        *(Verdict.MEMORY_ERROR, Verdict.NONDETERMINISTIC, Verdict.TIMEOUT, Verdict.CRASHED, Verdict.OUT_OF_MEMORY),
        *(Verdict.UNSUPPORTED, Verdict.NO_CUSTOM_KERNEL, Verdict.CHEATING, Verdict.HARNESS_ERROR),
        *(Verdict.COMPILE_ERROR, Verdict.INVALID_PROBLEM),
    ],
)
def test_faults_limits_and_accusations_go_on(verdict: Verdict) -> None:
    assert not is_certain(simulated(verdict))


def test_what_passes_goes_on() -> None:
    assert not is_certain(passed(environment=sim_environment(), config=Config().but("correctness", sanitize=True)))


@pytest.mark.parametrize(
    "asks",
    [
        "torch.cuda.get_device_capability()",
        "at::cuda::getCurrentDeviceProperties()->multiProcessorCount",
        "cudaGetDeviceProperties(&properties, 0);",
        "#if __CUDA_ARCH__ >= 900",
    ],
)
def test_who_asks_for_the_device_may_do_otherwise_on_another(asks: str) -> None:
    one = of_values()
    solution = SolutionRef("own", "6a0d" * 16, None, None, Verdict.PASSED, files={"solution.py": asks})
    assert not is_certain(replace(one, solution=solution))
