"""Exports: other tools' formats, with our words mapped to theirs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from harness.errors import UsageError
from harness.model.evaluation import Evaluation, ProblemRef
from harness.model.verdict import Verdict
from harness.reports.export import kernelbench_id, to_csv, to_kernelbench
from harness.store.entry import entry_of
from tests.examples import failed, passed, sim_environment, timing


def of(problem: str, evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, problem=ProblemRef(problem, "aa" * 32, "float32"))


def test_csv_has_a_row_per_evaluation() -> None:
    text = to_csv([entry_of(passed(timing=timing(solution_ns=1_500_000))), entry_of(failed())])
    first, second = csv.DictReader(io.StringIO(text))
    assert (first["verdict"], first["cases"], first["solution_ns"]) == ("passed", "full small", "1500000.0")
    assert float(first["speedup"]) == pytest.approx(2.0)
    assert (second["verdict"], second["speedup"], second["baseline"]) == ("wrong_values", "", "")


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x"])
def test_csv_holds_no_formula(name: str) -> None:
    (row,) = csv.DictReader(io.StringIO(to_csv([entry_of(passed(name))])))
    assert row["solution"] == f"'{name}"


def test_csv_holds_no_control_characters() -> None:
    (row,) = csv.DictReader(io.StringIO(to_csv([entry_of(passed("a\x1b[2J\ud800"))])))
    assert row["solution"] == "a�[2J?"


def test_kernelbench_gets_a_sample_per_solution() -> None:
    problem = "42_Max_Pooling_2D"
    found = to_kernelbench([of(problem, passed("b", timing=timing(blocks=6))), of(problem, failed("a"))])
    assert found == {
        "42": [
            {
                "sample_id": 0,
                "compiled": True,
                "correctness": False,
                "metadata": {
                    "hardware": "NVIDIA H100 80GB HBM3",
                    "device": "cuda",
                    "problem": problem,
                    "solution": "a",
                    "verdict": "wrong_values",
                    "evaluation": "20261121T031040-b1084b09",
                    "error": "1 of 4 values are outside the tolerance",
                },
                "runtime": -1.0,
                "runtime_stats": {},
            },
            {
                "sample_id": 1,
                "compiled": True,
                "correctness": True,
                "metadata": {
                    "hardware": "NVIDIA H100 80GB HBM3",
                    "device": "cuda",
                    "problem": problem,
                    "solution": "b",
                    "verdict": "passed",
                    "evaluation": "20261121T031040-b1084b09",
                },
                "runtime": 1.0,
                "runtime_stats": {
                    "mean": 1.0,
                    "std": 0.0,
                    "min": 1.0,
                    "max": 1.0,
                    "num_trials": 24,
                    "hardware": "NVIDIA H100 80GB HBM3",
                    "device": "cuda",
                },
            },
        ]
    }
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("verdict", [Verdict.COMPILE_ERROR, Verdict.LOAD_ERROR])
def test_what_cannot_be_loaded_is_not_compiled_for_kernelbench(verdict: Verdict) -> None:
    (sample,) = to_kernelbench([failed(verdict=verdict)])["maxpool2d"]
    assert (sample["compiled"], sample["correctness"]) == (False, False)


@pytest.mark.parametrize("verdict", [Verdict.UNSUPPORTED, Verdict.HARNESS_ERROR, Verdict.INVALID_PROBLEM])
def test_what_could_not_be_judged_is_left_out(verdict: Verdict) -> None:
    assert to_kernelbench([failed(verdict=verdict)]) == {}


def test_a_simulated_run_has_no_time() -> None:
    (sample,) = to_kernelbench([passed(environment=sim_environment())])["maxpool2d"]
    assert (sample["correctness"], sample["runtime"], sample["metadata"]["hardware"]) == (True, -1.0, "simulator")


@pytest.mark.parametrize(
    ("name", "number"),
    [("42_Max", "42"), ("level1_42_Max", "42"), ("7", "7"), ("maxpool2d", "maxpool2d"), ("conv_3x3", "conv_3x3")],
)
def test_the_number_is_read_off_the_name(name: str, number: str) -> None:
    assert kernelbench_id(name) == number


def test_one_number_for_two_problems_is_refused() -> None:
    with pytest.raises(UsageError, match=r"level1_42_A and level2_42_B .*42"):
        to_kernelbench([of("level1_42_A", passed()), of("level2_42_B", passed())])
