"""Which evaluation stands for a solution, and its rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.evaluation import Evaluation
from harness.model.timing import Timing
from harness.model.verdict import Verdict
from harness.reports.leaderboard.board import Board, Standing, measurements
from harness.reports.leaderboard.words import problem_note
from tests.examples import environment
from tests.examples import timing as even_timing
from tests.reports.leaderboard.samples import (
    board,
    broken,
    entries,
    other_gpu,
    problem,
    simulated,
    solution,
    timed,
    timing,
)
from tests.wording import tells


def standing(of: Board, name: str = "plain") -> Standing:
    return next(s for s in of.standings if s.entry.solution == name)


def ranks(of: Board) -> list[tuple[str, int | None]]:
    return [(s.entry.solution, s.rank) for s in of.standings]


def test_the_fastest_solution_comes_first() -> None:
    made = board(timed("relu", "a", 1.5), timed("relu", "b", 3.0), timed("relu", "c", 0.5))
    assert ranks(made) == [("b", 1), ("a", 2), ("c", 3)]


def test_solutions_whose_intervals_overlap_share_a_rank() -> None:
    made = board(
        timed("relu", "a", 2.0, spread=0.02),
        timed("relu", "b", 2.0005, spread=0.02),
        timed("relu", "c", 1.0, spread=0.02),
    )
    assert dict(ranks(made)) == {"a": 1, "b": 1, "c": 3}


def test_the_newest_evaluation_of_a_source_counts_and_not_its_luckiest() -> None:
    made = board(
        *(timed(speedup=speedup, day=day, id=f"day {day}") for day, speedup in ((1, 2.0), (2, 2.1), (3, 2.05)))
    )
    assert (standing(made).entry.id, standing(made).evaluations, standing(made).is_older_source) == ("day 3", 3, False)


@pytest.mark.parametrize(
    "unfit",
    [
        timed(day=3, timing=timing(3_000_000, 1_000_000, spread=0.6)),
        timed(day=3, timing=None),
        timed(day=3, cases=("full",)),
        broken("relu", "plain", Verdict.HARNESS_ERROR, day=3),
    ],
    ids=["noisy", "not timed", "without a case", "failed by our fault"],
)
def test_what_is_not_ranked_replaces_nothing_that_is(unfit: Evaluation) -> None:
    made = board(timed(day=1, id="first"), timed(speedup=1.5, day=2, id="newest"), replace(unfit, id="unfit"))
    assert (standing(made).entry.id, standing(made).rank) == ("newest", 1)


def test_the_newest_counts_and_neither_a_luckier_nor_a_former_one() -> None:
    edited = solution(version="22")
    made = board(
        timed(speedup=4.0, day=1, id="lucky"),
        timed(speedup=3.0, day=2, id="former"),
        timed(speedup=3.5, day=3, id="edited and lucky", solution=edited),
        timed(speedup=2.0, day=4, id="edited", solution=edited),
    )
    assert (standing(made).entry.id, standing(made).is_older_source) == ("edited", False)


def test_a_former_source_counts_where_the_new_one_fails_and_says_so() -> None:
    former = timed(speedup=3.0, day=1, id="former")
    edited = broken("relu", "plain", Verdict.WRONG_VALUES, day=2, id="edited")
    made = standing(board(former, replace(edited, solution=solution(version="22"))))
    assert (made.entry.id, made.is_older_source, made.rank) == ("former", True, 1)


def test_a_failure_of_the_machine_takes_no_rank_away() -> None:
    made = standing(board(timed(day=1), broken("relu", "plain", Verdict.HARNESS_ERROR, day=2, id="later")))
    assert made.rank == 1


def test_a_failure_stays_in_force_after_a_failure_of_the_machine() -> None:
    made = board(
        timed(day=1),
        broken("relu", "plain", Verdict.WRONG_VALUES, day=2, id="wrong"),
        broken("relu", "plain", Verdict.HARNESS_ERROR, day=3, id="ours"),
    )
    assert standing(made).rank is None


def test_a_failure_of_a_former_source_takes_no_rank_away() -> None:
    fixed = timed(day=2, id="fixed", solution=solution(version="22"))
    assert standing(board(broken(solution_name="plain", day=1), fixed)).rank == 1


def test_a_newer_version_elsewhere_is_mentioned_and_changes_no_rank() -> None:
    made = board(timed(day=1), simulated(id="sim", started_at="2026-11-05T12:00:00", problem=problem(version="bb")))
    assert (made.problems[0].has_newer_version, standing(made).rank) == (True, 1)


def end_to_end(speedup: float) -> Timing:
    return replace(timing(3_000_000, round(3_000_000 / speedup)), metric="end_to_end")


def test_what_waits_for_the_device_is_not_ranked_among_kernels() -> None:
    """Its ratio is one of host overheads."""
    made = board(timed("relu", "plain", 1.5), timed("relu", "waiting", timing=end_to_end(6.3)), timed("relu", "b", 1.2))
    assert ranks(made) == [("plain", 1), ("b", 2), ("waiting", None)]
    assert tells(standing(made, "waiting").why_unranked, "end to end")
    assert made.problems[0].metric == "gpu_cold"


def test_of_a_solution_that_waited_once_the_other_measurement_stands() -> None:
    made = board(timed(day=1, id="cold", speedup=1.5), timed(day=2, id="waiting", timing=end_to_end(6.3)))
    assert (standing(made).entry.id, standing(made).rank) == ("cold", 1)
    every = entries(timed(day=1, id="cold", speedup=1.5), timed(day=2, id="waiting", timing=end_to_end(6.3)))
    assert [entry.id for entry in measurements(made.problems[0], every)] == ["cold"]


def test_where_the_reference_waits_all_are_ranked_among_themselves() -> None:
    made = board(timed("relu", "a", timing=end_to_end(1.1)), timed("relu", "b", timing=end_to_end(2.0)))
    assert ranks(made) == [("b", 1), ("a", 2)]
    assert made.problems[0].metric == "end_to_end"
    assert tells(problem_note(made.problems[0]), "end to end", "reference waits")


def test_a_measurement_under_other_terms_says_nothing_of_the_metric() -> None:
    elsewhere = timed("relu", "a", environment=other_gpu())
    older = timed("relu", "a", day=1, problem=problem(version="00"))
    made = board(elsewhere, older, *(timed("relu", f"w{n}", day=n, timing=end_to_end(n)) for n in (2, 3)))
    assert [(name, rank) for name, rank in ranks(made) if rank] == [("w3", 1), ("w2", 2)]


OTHERS = (timed(solution_name="a"), timed(solution_name="b"))


@pytest.mark.parametrize(
    ("evaluations", "words"),
    [
        ((*OTHERS, timed(timing=timing(3_000_000, 1_000_000, spread=0.6))), ("too noisy:", "interval")),
        ((*OTHERS, timed(timing=even_timing(blocks=3))), ("too noisy:", "blocks")),
        ((*OTHERS, timed(timing=None)), ("not timed",)),
        ((*OTHERS, simulated()), ("simulated",)),
        ((*OTHERS, timed(environment=other_gpu())), ("from another environment", other_gpu().label)),
        ((*OTHERS, timed(), broken(solution_name="plain", day=2, id="later")), ("outputs differ",)),
        ((*OTHERS, broken(solution=solution(expected_verdict=Verdict.WRONG_VALUES))), ("example", "wrong_values")),
        ((timed(), timed(solution_name="a", day=2, problem=problem(version="bb"))), ("older version",)),
        ((timed(solution_name="a", cases=("full", "odd", "small")), timed()), ("without", "odd")),
        ((timed(cases=("small",)),), ("without", "full")),
    ],
)
def test_what_is_not_ranked_says_why(evaluations: tuple[Evaluation, ...], words: tuple[str, ...]) -> None:
    made = board(*evaluations)
    others = [one.solution.name for one in evaluations if one.solution.name != "plain"]
    assert ranks(made) == [*((name, 1) for name in others), ("plain", None)]
    assert tells(standing(made).why_unranked, *words)


def test_a_journal_of_simulated_runs_alone_makes_a_board_without_ranks() -> None:
    made = board(simulated())
    assert (made.environment.is_simulated, ranks(made)) == (True, [("plain", None)])


def test_classes_of_precision_are_ranked_apart() -> None:
    tf32 = timed(solution_name="tensor_cores", speedup=4.0, solution=solution("tensor_cores", precision="tf32"))
    half = timed(solution_name="half", speedup=9.0, solution=solution("half", precision="bfloat16"))
    made = board(timed(solution_name="strict"), half, tf32)
    assert [(s.entry.solution, s.precision_class, s.rank) for s in made.standings] == [
        ("strict", "float32", 1),
        ("tensor_cores", "tf32", 1),
        ("half", "half", 1),
    ]


def test_a_solution_that_declares_nothing_is_in_the_problems_class() -> None:
    assert standing(board(timed(problem=problem(precision="tf32")))).precision_class == "tf32"


def test_the_precision_of_a_problem_is_what_those_who_passed_have_seen() -> None:
    """A solution that doesn't compile ends before the reference runs."""
    (made,) = board(timed(problem=problem(precision="bfloat16")), broken(day=2)).problems
    assert made.precision == "bfloat16"


def test_history_holds_every_comparable_measurement_oldest_first() -> None:
    evaluations = [
        timed(day=3, id="third"),
        timed(day=1, id="first"),
        timed(day=2, id="elsewhere", environment=other_gpu()),
        timed("softmax", day=2, id="another"),
        simulated(id="sim"),
        timed(day=1, id="old", problem=problem(version="00"), started_at="2026-10-01T00:00:00"),
    ]
    made = board(*evaluations)
    found = measurements(made.problems[0], entries(*evaluations))
    assert [entry.id for entry in found] == ["first", "third"]


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_entries_doesnt_matter(order: int) -> None:
    made = [timed("relu", name, speed) for name, speed in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    assert ranks(board(*made[::order])) == [("c", 1), ("b", 2), ("a", 3)]


def test_an_unknown_word_for_a_precision_ranks_as_half() -> None:
    assert standing(board(timed(solution=replace(solution(), precision="float8")))).precision_class == "half"


def test_two_gpus_of_one_model_are_told() -> None:
    one = timed(solution_name="one", environment=environment(gpu_uuid="GPU-1"))
    other = timed(solution_name="other", environment=environment(gpu_uuid="GPU-2"))
    assert tells(problem_note(board(one, other).problems[0]), "2 GPUs")
    assert problem_note(board(one).problems[0]) is None
