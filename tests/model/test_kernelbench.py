"""KernelBench's scores: the numbers were computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.evaluation import Evaluation, ProblemRef
from harness.model.kernelbench import (
    KernelBenchLevel,
    average_pass_at_k,
    fields_of,
    kernelbench_problem,
    known_pass_at_k,
    pass_at_k,
    run_and_sample,
    score,
    solution_name,
)
from harness.model.verdict import Verdict
from harness.reports.export import kernelbench_files
from tests.examples import failed, passed, sim_environment, timing

NAMES = [f"level1_{number}_P" for number in (1, 2, 3, 4)]


def of(number: int, evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, problem=ProblemRef(f"level1_{number}_P", "aa" * 32, "float32"))


def fast(sample: int, solution_ns: int) -> Evaluation:
    return passed(f"m_sample_{sample}", timing=timing(eager_ns=2_000_000, solution_ns=solution_ns))


def field_of(*evaluations: Evaluation) -> KernelBenchLevel:
    (field,) = fields_of(evaluations, NAMES)
    return field


def test_names_hold_level_number_run_and_sample() -> None:
    problem = kernelbench_problem("level2_26_GELU_")
    assert problem is not None
    assert (problem.level, problem.number, problem.file, problem.name) == (2, 26, "26_GELU_.py", "level2_26_GELU_")
    assert kernelbench_problem("maxpool2d") is None
    assert run_and_sample(solution_name("my_run", 3)) == ("my_run", 3)
    assert run_and_sample("tiled") == ("tiled", 0)


def test_fast_p_counts_samples_0_over_every_problem() -> None:
    field = field_of(of(1, fast(0, 1_000_000)), of(2, fast(0, 4_000_000)), of(3, fast(1, 1_000_000)))
    found = score(field, "m", [1])
    assert found.fast_p == {0.0: 0.5, 0.5: 0.25, 0.8: 0.25, 1.0: 0.25, 1.5: 0.25, 2.0: 0.0}
    assert found.geometric_mean == pytest.approx(1.0)


def test_an_invalid_problem_is_counted_beside_the_scores() -> None:
    invalid = of(1, failed("other_sample_0", Verdict.INVALID_PROBLEM))
    found = score(field_of(of(1, fast(0, 1_000_000)), of(2, fast(0, 1_000_000)), invalid), "m", [1])
    assert (found.problems, found.samples, found.invalid_problems) == (3, 1, 1)
    assert found.fast_p is not None
    assert found.fast_p[1.0] == pytest.approx(1 / 3)


def test_what_says_nothing_of_a_solution_is_no_sample() -> None:
    unsupported = of(1, failed("m_sample_0", Verdict.UNSUPPORTED))
    found = score(field_of(unsupported, of(2, passed("m_sample_0")), of(3, fast(0, 1_000_000))), "m", [1])
    assert (found.samples, found.not_judged, found.not_timed) == (1, 1, 1)
    assert found.pass_at_k == {1: 1.0}


def test_the_simulator_has_no_speeds() -> None:
    found = score(field_of(of(1, passed("m_sample_0", environment=sim_environment()))), "m", [1])
    assert (found.gpu, found.fast_p, found.geometric_mean, found.correct) == ("simulator", None, None, 1)


@pytest.mark.parametrize(
    ("samples", "right", "k", "expected"), [(5, 2, 1, 0.4), (5, 2, 2, 0.7), (5, 4, 2, 1.0), (3, 0, 2, 0.0)]
)
def test_pass_at_k(samples: int, right: int, k: int, expected: float) -> None:
    assert pass_at_k(samples, right, k) == pytest.approx(expected)


def test_too_few_samples_add_nothing_to_the_average() -> None:
    assert average_pass_at_k([(5, 5), (1, 1)], [1, 5]) == {1: 1.0, 5: 0.5}


def test_more_samples_than_any_problem_has_are_no_score() -> None:
    assert known_pass_at_k([(3, 1), (1, 1)], [1, 3, 5]) == {1: pytest.approx(2 / 3), 3: 0.5, 5: None}


def test_files_hold_true_sample_numbers_and_a_baseline_for_every_valid_problem() -> None:
    invalid = of(4, failed("m_sample_0", Verdict.INVALID_PROBLEM))
    files = dict(kernelbench_files([field_of(of(1, failed("m_sample_0")), of(1, fast(3, 1_000_000)), invalid)], [1, 2]))
    runs = "runs/NVIDIA_H100_80GB_HBM3/level1/m"
    rows = files[f"{runs}/eval_results.json"]["1"]
    assert [(row["sample_id"], row["correctness"], row["runtime"]) for row in rows] == [
        (0, False, -1.0),
        (3, True, 1.0),
    ]
    assert files[f"{runs}/pass_at_k_results.json"]["averages"] == {"avg_pass@1": 0.5, "avg_pass@2": 1.0}
    times = files["timing/NVIDIA_H100_80GB_HBM3/baseline_time_torch.json"]["level1"]
    assert {name: row["mean"] for name, row in times.items()} == {"1_P.py": 2.0, "2_P.py": None, "3_P.py": None}
