"""Which evaluations of a finished run count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.gate.evaluations import from_run, other_settings
from harness.gate.runs import left_out
from harness.model.config import Config, CorrectnessConfig, TimingConfig
from harness.model.evaluation import Evaluation
from harness.model.gate import Judged
from harness.workspace.problem import Case, Problem
from harness.workspace.selection import Task
from harness.workspace.solution import Solution, SolutionFile
from tests.examples import sim_environment
from tests.gate.builders import timed

KEY = ("maxpool2d", "tiled")


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """A solution of a problem with the cases 'full' and 'small'."""
    (tmp_path / "solution.py").write_text("x = 1")
    cases = {"full": Case(), "small": Case()}
    problem = Problem("maxpool2d", tmp_path, "", "", "", (), "float32", None, False, cases)
    return Task(problem, Solution("tiled", "maxpool2d", tmp_path, SolutionFile()), ("full", "small"))


def of(task: Task, **changes: Any) -> Evaluation:
    """An evaluation of the task's present sources."""
    made = timed(1_000_000)
    problem = replace(made.problem, sha256=task.problem.sha256)
    return replace(made, problem=problem, solution=replace(made.solution, sha256=task.solution.sha256), **changes)


def messages(lost: list[Judged]) -> list[str]:
    return [finding.message for one in lost for finding in one.findings if finding.rule == "missing_result"]


def test_a_result_of_the_same_sources_and_all_cases_counts(task: Task) -> None:
    assert from_run([task], [of(task)]) == ({KEY: [of(task)]}, [], [])


def test_cases_that_the_problem_had_before_do_no_harm(task: Task) -> None:
    assert left_out(of(task, cases=("small", "full", "odd")), task.problem) is None


def test_beside_one_that_counts_the_others_are_remarked(task: Task) -> None:
    found, _, remarks = from_run([task], [of(task, cases=("full",)), of(task, cases=("full",)), of(task)])
    assert found == {KEY: [of(task)]}
    (remark,) = remarks
    assert "maxpool2d/tiled" in remark
    assert "without small" in remark


def test_what_the_run_does_not_hold_is_missed(task: Task) -> None:
    other = of(task)
    _, lost, _ = from_run([task], [replace(other, solution=replace(other.solution, name="plain"))])
    (message,) = messages(lost)
    assert "no result" in message


def test_equal_settings_need_no_remark() -> None:
    there = Config(timing=TimingConfig(case="small", baselines=("compile",)))
    assert other_settings([timed(1_000_000, config=there)], Config(), with_timing=True) == []


def test_fewer_seeds_and_blocks_are_remarked() -> None:
    there = Config(CorrectnessConfig(seeds=1), TimingConfig(blocks=6))
    (both,) = other_settings([timed(1_000_000, config=there)], Config(), with_timing=True)
    assert "correctness.seeds 1 there, 3" in both
    assert "timing.blocks 6 there, 12" in both
    (seeds,) = other_settings([timed(1_000_000, config=there)], Config(), with_timing=False)
    assert "correctness.seeds" in seeds
    assert "timing" not in seeds


def test_results_without_times_are_counted_where_speed_is_judged() -> None:
    there = Config(timing=TimingConfig(enabled=False, blocks=6))
    run = [timed(1_000_000, config=there), timed(1_000_000)]
    (remark,) = other_settings(run, Config(), with_timing=True)
    assert remark.startswith("1 ")
    assert "not timed" in remark
    assert other_settings(run, Config(), with_timing=False) == []
    simulated = replace(timed(1, timing=None, environment=sim_environment()), config=there)
    assert other_settings([simulated], Config(), with_timing=True) == []
