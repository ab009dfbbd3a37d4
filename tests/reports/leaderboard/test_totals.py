"""A class of precision in a few numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.verdict import Verdict
from harness.reports.leaderboard.words import total_sentence, totals, verdict_counts
from tests.examples import timing as even_timing
from tests.reports.leaderboard.samples import board, broken, html_page, simulated, solution, timed
from tests.wording import tells


def test_the_mean_is_over_the_best_solution_of_each_problem() -> None:
    made = board(
        timed("a", "fast", timing=even_timing(4_000_000, 1_000_000)),
        timed("a", "slow", timing=even_timing(1_000_000, 1_000_000)),
        timed("b", "only", timing=even_timing(1_000_000, 1_000_000)),
        broken("c"),
    )
    (total,) = totals(made)
    assert total.mean_of_best is not None
    assert total.mean_of_best.estimate == pytest.approx(2.0)
    assert tells(total_sentence(total), "strict float32: 2.0000× [1.9957, 2.0043]", "2 of 3")


def test_fast_p_counts_failures_in_its_denominator() -> None:
    made = board(
        timed("a", "fast", timing=even_timing(4_000_000, 1_000_000)), timed("a", "slow", 1.3), broken("a"), broken("b")
    )
    (total,) = totals(made)
    assert [(f.p, f.faster, f.of) for f in total.of_all if f.p in (0, 1, 1.5, 3, 5)] == [
        (0.0, 2, 4),
        (1.0, 2, 4),
        (1.5, 1, 4),
        (3.0, 1, 4),
        (5.0, 0, 4),
    ]
    assert [(f.p, f.faster, f.of) for f in total.of_best if f.p in (1, 5)] == [(1.0, 1, 2), (5.0, 0, 2)]


def test_what_blames_nobody_and_what_is_meant_to_fail_are_no_samples() -> None:
    made = board(
        timed(),
        broken(solution_name="limit", verdict=Verdict.UNSUPPORTED),
        broken(solution=solution("example", expected_verdict=Verdict.WRONG_VALUES), solution_name="example"),
        simulated(solution_name="dry"),
        timed(solution_name="untimed", timing=None),
    )
    (total,) = totals(made)
    assert {f.of for f in total.of_all} == {1}


def test_without_samples_there_are_no_totals() -> None:
    assert totals(board(simulated())) == ()


def test_problems_that_were_measured_end_to_end_are_left_out_and_named() -> None:
    waiting = replace(even_timing(9_000_000, 1_000_000), metric="end_to_end")
    made = board(
        timed("a", "fast", timing=even_timing(4_000_000, 1_000_000)),
        timed("a", "waits", timing=waiting),
        timed("b", "waits", timing=waiting),
        broken("b"),
        broken("c"),
    )
    (total,) = totals(made)
    assert total.left_out == ("b",)
    assert total.mean_of_best is not None
    assert total.mean_of_best.estimate == pytest.approx(4.0)
    assert {f.of for f in total.of_all} == {2}  # a/fast and c/broken
    assert {f.of for f in total.of_best} == {2}
    assert tells(total_sentence(total), "1 of 2", "left out: b", "gpu_cold")


def test_a_problem_by_which_nobody_can_be_judged_is_in_no_rank_and_counted_beside_the_totals() -> None:
    made = board(
        timed("a", "fast", timing=even_timing(4_000_000, 1_000_000)),
        timed("blind", "lucky", timing=even_timing(9_000_000, 1_000_000)),
        broken("blind", "wrong"),
        broken("blind", "unlucky", verdict=Verdict.INVALID_PROBLEM),
    )
    (total,) = totals(made)
    assert (total.problems, total.measured, total.invalid) == (1, 1, ("blind",))
    assert {f.of for f in total.of_all} == {1}
    blind = next(problem for problem in made.problems if problem.name == "blind")
    assert (blind.is_invalid, {s.rank for s in blind.standings}) == (True, {None})
    assert "left out: blind, invalid_problem" in total_sentence(total)


def test_a_problem_of_which_a_newer_evaluation_passes_is_valid() -> None:
    older = broken("a", "s", verdict=Verdict.INVALID_PROBLEM)
    (total,) = totals(board(older, timed("a", "s", timing=even_timing(4_000_000, 1_000_000))))
    assert (total.measured, total.invalid) == (1, ())


def test_a_class_of_which_all_is_left_out_says_so() -> None:
    made = board(timed("b", timing=replace(even_timing(9_000_000, 1_000_000), metric="end_to_end")))
    (total,) = totals(made)
    assert tells(total_sentence(total), "strict float32: left out: b", "gpu_cold")
    assert "geometric" not in total_sentence(total)
    assert "b, not measured as gpu_cold" in html_page(
        timed("b", timing=replace(even_timing(9_000_000, 1_000_000), metric="end_to_end"))
    )


def test_each_class_has_its_own_total() -> None:
    made = board(timed(), timed(solution_name="t", solution=solution("t", precision="tf32")))
    assert [total.precision_class for total in totals(made)] == ["float32", "tf32"]


def test_failures_are_counted_most_frequent_first() -> None:
    made = board(
        broken(solution_name="a", verdict=Verdict.TIMEOUT),
        broken(solution_name="b"),
        broken(solution_name="c"),
        timed(solution_name="d"),
        simulated(solution_name="e"),
    )
    counts = [(verdict.value, [s.entry.solution for s in group]) for verdict, group in verdict_counts(made.standings)]
    assert counts == [("wrong_values", ["b", "c"]), ("timeout", ["a"])]
