"""Three answers from an interval, and one from several measurements."""

from __future__ import annotations

import math

import pytest

from harness.gate.policy import Policy
from harness.gate.snapshot import accept
from harness.gate.speed import conclude, is_suspect, ratio, speed_answers
from harness.model.statistics import Interval
from tests.gate.builders import timed


def test_the_ratio_of_independent_intervals_adds_log_widths_in_quadrature() -> None:
    new = Interval(2.0, 2.0 / math.exp(0.03), 2.0 * math.exp(0.03), 0.96)
    old = Interval(4.0, 4.0 / math.exp(0.04), 4.0 * math.exp(0.04), 0.95)
    found = ratio(new, old)
    assert found.estimate == pytest.approx(0.5)
    assert found.low == pytest.approx(0.5 * math.exp(-0.05))
    assert found.high == pytest.approx(0.5 * math.exp(0.05))
    assert found.confidence == 0.95


def test_the_lower_side_of_the_ratio_uses_the_upper_side_of_the_old() -> None:
    exact = Interval(1.0, 1.0, 1.0, 0.95)
    lopsided = Interval(1.0, 1.0, 1.25, 0.95)
    assert ratio(exact, lopsided).low == pytest.approx(0.8)
    assert ratio(exact, lopsided).high == 1.0


@pytest.mark.parametrize(
    ("solution_ns", "spread", "answer"),
    [
        (1_000_000, 0.001, "unchanged"),
        (1_045_000, 0.001, "unchanged"),
        (1_055_000, 0.001, "regressed"),
        (1_050_000, 0.02, "inconclusive"),
        (1_060_000, 0.02, "inconclusive"),
        (1_040_000, 0.02, "inconclusive"),
        (990_000, 0.001, "improved"),
        (1_000_000, 0.2, "inconclusive"),
    ],
)
def test_the_whole_interval_decides(solution_ns: int, spread: float, answer: str) -> None:
    accepted = accept(timed(1_000_000))
    assert speed_answers(timed(solution_ns, spread), accepted, Policy()).change == answer


@pytest.mark.parametrize(("solution_ns", "answer"), [(1_900_000, "unchanged"), (2_100_000, "regressed")])
def test_a_slow_down_is_a_share_of_the_accepted_time(solution_ns: int, answer: str) -> None:
    twice = Policy(largest_slowdown=1.0)
    assert speed_answers(timed(solution_ns), accept(timed(1_000_000)), twice).change == answer


@pytest.mark.parametrize(
    ("answers", "conclusion"),
    [
        (["unchanged"], "unchanged"),
        (["improved"], "improved"),
        (["regressed"], "regressed"),
        (["inconclusive"], "inconclusive"),
        (["regressed", "regressed", "regressed"], "regressed"),
        (["inconclusive", "regressed", "regressed"], "regressed"),
        (["regressed", "regressed", "inconclusive"], "inconclusive"),
        (["regressed", "unchanged"], "inconclusive"),
        (["regressed", "regressed", "improved"], "inconclusive"),
        (["inconclusive", "unchanged"], "unchanged"),
        (["inconclusive", "improved"], "improved"),
        (["inconclusive", "inconclusive", "inconclusive"], "inconclusive"),
    ],
)
def test_a_regression_stands_only_if_every_repetition_finds_it(answers: list[str], conclusion: str) -> None:
    assert conclude(answers) == conclusion  # type: ignore[arg-type]


def test_no_more_measuring_once_one_measurement_is_clean() -> None:
    accepted = accept(timed(1_000_000))
    slow, fine = (speed_answers(timed(ns), accepted, Policy()) for ns in (1_100_000, 1_000_000))
    assert is_suspect([slow])
    assert is_suspect([slow, slow])
    assert not is_suspect([slow, fine])
    assert not is_suspect([fine])


def test_a_question_that_nobody_asks_raises_no_suspicion() -> None:
    assert not is_suspect([speed_answers(timed(1_000_000, spread=0.2), None, Policy())])


def test_the_least_speed_up_is_a_question_of_its_own() -> None:
    accepted = accept(timed(1_000_000))
    answers = speed_answers(timed(1_000_000), accepted, Policy(least_speedup=3.5))
    assert (answers.change, answers.least) == ("unchanged", "regressed")
    assert is_suspect([answers])
