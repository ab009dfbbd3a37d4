"""Who is ahead, and how far a set has come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.model.evaluation import Evaluation, ProblemRef
from harness.model.ranking import best_per_problem, rank, summarise
from harness.model.timing import Timing, Turn
from harness.model.verdict import Verdict
from tests.examples import failed, passed, sim_environment, timing
from tests.wording import tells


def timed(name: str, low: float, high: float, **changes: Any) -> Evaluation:
    """Passed with a speed-up whose 95 % interval spans from `low` to `high`: six blocks, half at each end."""
    speedups = (low, low, low, high, high, high)
    turns = [
        turn
        for block, speedup in enumerate(speedups)
        for turn in (
            Turn("eager", block, (1_000_000,), 1_000_100),
            Turn("solution", block, (round(1_000_000 / speedup),), 9_000_000),
        )
    ]
    return passed(name, timing=Timing("full", tuple(turns)), **changes)


def ranks(*evaluations: Evaluation) -> list[tuple[int | None, str]]:
    return [(ranked.rank, ranked.evaluation.solution.name) for ranked in rank(evaluations)]


def test_the_fastest_comes_first() -> None:
    assert ranks(timed("slow", 1.0, 1.1), timed("fast", 3.0, 3.1), timed("middle", 2.0, 2.1)) == [
        (1, "fast"),
        (2, "middle"),
        (3, "slow"),
    ]


def test_overlapping_intervals_share_a_rank_and_the_next_rank_is_left_out() -> None:
    assert ranks(timed("a", 2.9, 3.3), timed("b", 2.8, 3.0), timed("c", 1.0, 1.1)) == [(1, "a"), (1, "b"), (3, "c")]


def test_who_overlaps_only_the_second_is_not_first() -> None:
    """Overlap isn't transitive: a is ahead of c, b is ahead of nobody and nobody of b."""
    assert ranks(timed("a", 3.0, 3.4), timed("b", 2.5, 3.1), timed("c", 2.2, 2.7)) == [(1, "a"), (1, "b"), (2, "c")]


def test_what_was_not_timed_or_failed_has_no_rank_and_comes_last() -> None:
    assert ranks(failed("wrong"), passed("untimed"), timed("fast", 2.0, 2.1)) == [
        (1, "fast"),
        (None, "untimed"),
        (None, "wrong"),
    ]


def test_nothing_has_no_ranking() -> None:
    assert rank([]) == []


def test_too_few_blocks_have_no_speedup() -> None:
    assert passed(timing=timing(blocks=5)).speedup is None


def test_fast_p_is_the_share_of_samples_that_are_correct_and_faster_than_p() -> None:
    samples = [timed("a", 4.0, 4.0), timed("b", 1.25, 1.25), timed("c", 0.5, 0.5), failed("d")]
    curve = {point.p: (point.faster, point.of, point.share) for point in summarise(samples).fast_p}
    assert (curve[0.0], curve[1.0], curve[2.0], curve[5.0]) == ((3, 4, 0.75), (2, 4, 0.5), (1, 4, 0.25), (0, 4, 0.0))
    assert curve[1.25] == (1, 4, 0.25), "faster, not as fast"


def test_what_blames_nobody_is_no_sample_of_fast_p() -> None:
    samples = [timed("a", 2.0, 2.0), failed("b", verdict=Verdict.HARNESS_ERROR), passed(environment=sim_environment())]
    assert [(point.faster, point.of) for point in summarise(samples).fast_p if point.p == 1] == [(1, 1)]
    assert summarise(samples[1:]).fast_p == ()


def test_a_summary_says_over_what_its_mean_is() -> None:
    summary = summarise([timed("a", 4.0, 4.0), timed("b", 1.0, 1.0), failed("c"), failed("d")])
    assert (summary.evaluated, summary.timed) == (4, 2)
    assert summary.mean_speedup is not None
    assert summary.mean_speedup.estimate == pytest.approx(2.0)
    assert summary.verdicts == ((Verdict.PASSED, 2), (Verdict.WRONG_VALUES, 2))


def waiting(name: str, speedup: float, problem: str = "maxpool2d") -> Evaluation:
    """It waits for the device, so that it was measured end to end."""
    made = timed(name, speedup, speedup, problem=ProblemRef(problem, "c004" * 16, "float32"))
    assert made.timing is not None
    return replace(made, timing=replace(made.timing, metric="end_to_end"))


def test_no_two_metrics_are_ranked_together() -> None:
    ranked = rank([waiting("waits", 6.3), timed("plain", 1.5, 1.5), failed("wrong"), timed("slow", 1.1, 1.1)])
    assert [(one.rank, one.evaluation.solution.name) for one in ranked] == [
        (1, "plain"),
        (2, "slow"),
        (None, "waits"),
        (None, "wrong"),
    ]
    assert tells(ranked[2].other_metric, "end to end")
    assert [one.other_metric for one in ranked if one is not ranked[2]] == [None] * 3


def test_where_all_wait_they_are_ranked_among_themselves() -> None:
    assert ranks(waiting("a", 1.1), waiting("b", 2.0)) == [(1, "b"), (2, "a")]


def test_means_and_shares_are_of_one_metric() -> None:
    evaluations = [
        timed("plain", 2.0, 2.0),
        waiting("waits", 9.0),
        waiting("a", 9.0, "sync"),
        failed("b", problem=ProblemRef("sync", "c004" * 16, "float32")),
        failed("wrong"),
    ]
    summary = summarise(evaluations)
    assert (summary.evaluated, summary.timed, summary.left_out) == (5, 1, ("sync",))
    assert summary.mean_speedup is not None
    assert summary.mean_speedup.estimate == pytest.approx(2.0)
    assert [(point.faster, point.of) for point in summary.fast_p if point.p in (1, 3)] == [(1, 2), (0, 2)]
    assert [e.solution.name for e in best_per_problem(evaluations)] == ["plain"]


def test_a_summary_without_times_has_no_mean() -> None:
    assert summarise([failed()]).mean_speedup is None


def test_the_best_of_each_problem_is_its_fastest_that_passed() -> None:
    other = ProblemRef("avgpool2d", "aa" * 32, "float32")
    evaluations = [
        timed("slow", 1.0, 1.1),
        timed("fast", 2.0, 2.1),
        timed("only", 0.5, 0.6, problem=other),
        failed("broken", problem=ProblemRef("relu", "bb" * 32, "float32")),
    ]
    assert [e.solution.name for e in best_per_problem(evaluations)] == ["only", "fast"]


def test_a_problem_that_cannot_tell_is_in_no_rank_and_no_sum() -> None:
    blind = ProblemRef("blind", "0" * 64, "float32")
    found = [
        timed("good", 2.0, 2.0),
        timed("lucky", 9.0, 9.0, problem=blind),
        failed("slow", problem=blind),
        failed("unlucky", Verdict.INVALID_PROBLEM, problem=blind),
    ]
    assert {one.rank for one in rank(found[1:])} == {None}
    assert [e.solution.name for e in best_per_problem(found)] == ["good"]
    summary = summarise(found)
    assert (summary.evaluated, summary.timed, summary.invalid) == (4, 1, ("blind",))
    assert {point.of for point in summary.fast_p} == {1}
