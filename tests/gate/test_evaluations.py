"""Which solutions are evaluated again, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.gate.evaluations import measure
from harness.model.evaluation import Evaluation
from harness.workspace.problem import Problem
from harness.workspace.selection import Task
from harness.workspace.solution import Solution, SolutionFile
from tests.examples import failed, passed
from tests.gate.builders import snapshot_of, terms, timed

ACCEPTED = snapshot_of(timed(1_000_000))
SLOW, FINE, NOISY = timed(1_200_000), timed(1_000_000), timed(1_000_000, spread=0.2)


def task(name: str) -> Task:
    problem = Problem("maxpool2d", Path("nowhere"), "", "", "", (), "float32", None, False, {})
    return Task(problem, Solution(name, "maxpool2d", Path("nowhere"), SolutionFile()), ())


class Script:
    """Evaluates by a script: for each round the evaluations that come, whatever was asked for."""

    def __init__(self, *rounds: Sequence[Evaluation]) -> None:
        self._rounds = list(rounds)
        self.asked: list[list[str]] = []

    def __call__(self, tasks: Sequence[Task]) -> Sequence[Evaluation]:
        self.asked.append([task.solution.name for task in tasks])
        return self._rounds.pop(0)


def named(name: str, evaluation: Evaluation) -> Evaluation:
    return replace(evaluation, solution=replace(evaluation.solution, name=name))


def test_a_clean_measurement_is_taken_once() -> None:
    script = Script([FINE])
    found = measure([task("tiled")], script, terms(ACCEPTED))
    assert script.asked == [["tiled"]]
    assert found == {("maxpool2d", "tiled"): [FINE]}


def test_a_suspect_alone_is_measured_again() -> None:
    plain = named("plain", FINE)
    script, said = Script([SLOW, plain], [SLOW], [SLOW]), []
    found = measure([task("tiled"), task("plain")], script, terms(ACCEPTED), said.append)
    assert [what.rpartition(" ")[2] for what in said] == ["maxpool2d/tiled"] * 2
    assert script.asked == [["tiled", "plain"], ["tiled"], ["tiled"]]
    assert found["maxpool2d", "tiled"] == [SLOW, SLOW, SLOW]


def test_measuring_ends_with_the_first_clean_measurement() -> None:
    script = Script([NOISY], [FINE])
    assert measure([task("tiled")], script, terms(ACCEPTED))["maxpool2d", "tiled"] == [NOISY, FINE]


@pytest.mark.parametrize(("remeasure", "rounds"), [(0, 1), (1, 2), (4, 5)])
def test_the_policy_says_how_often(remeasure: int, rounds: int) -> None:
    script = Script(*[[SLOW]] * 5)
    measure([task("tiled")], script, terms(ACCEPTED, remeasure=remeasure))
    assert len(script.asked) == rounds


def test_a_wrong_result_is_not_measured_again() -> None:
    script = Script([failed("tiled")])
    measure([task("tiled")], script, terms(ACCEPTED))
    assert script.asked == [["tiled"]]


def test_without_a_gpu_nothing_is_measured_again() -> None:
    script = Script([passed("tiled")])
    measure([task("tiled")], script, terms(ACCEPTED, not_judged="no GPU"))
    assert script.asked == [["tiled"]]


def test_a_suspect_that_gives_no_further_result_is_not_asked_for_ever() -> None:
    script = Script([SLOW], [], [])
    assert measure([task("tiled")], script, terms(ACCEPTED))["maxpool2d", "tiled"] == [SLOW]
