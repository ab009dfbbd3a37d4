"""A board of what the index leaves is the board of everything: what it passes over decides nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.config import Config, CorrectnessConfig
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.timing import Timing
from harness.model.verdict import Verdict
from harness.reports.leaderboard.board import Board, make_board, measurements
from harness.reports.leaderboard.rules import Wanted
from harness.store.entry import config_hash
from harness.store.index import open_index
from harness.store.journal import Journal
from tests.examples import environment, sim_environment
from tests.reports.leaderboard.samples import CASES, board_of, broken, other_gpu, problem, solution, timed, timing
from tests.wording import tells

PLACES = (environment(), environment(), environment(), other_gpu(), sim_environment())
CONFIGS = (Config(), Config(), Config(correctness=CorrectnessConfig(seeds=1)))
VERDICTS = (Verdict.PASSED,) * 6 + (Verdict.WRONG_VALUES, Verdict.TIMEOUT, Verdict.HARNESS_ERROR, Verdict.UNSUPPORTED)
ASKED = {
    "problem_0": (CASES, ("small", "full"), ("small",)),
    "problem_1": (("full", "odd", "small"), ("full", "odd", "small"), CASES),
}


def compiled(made: Timing) -> Timing:
    turns = tuple(replace(turn, arm="compile") if turn.arm == "eager" else turn for turn in made.turns)
    return replace(made, baselines=("compile",), turns=turns)


EAGER = tuple(timing(3_000_000, ns) for ns in (1_000_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000))
NOISY = (timing(3_000_000, 500_000, spread=0.6), timing(3_000_000, 400_000, blocks=3))
TIMINGS = (*EAGER, *map(compiled, EAGER), *NOISY, None)
"""Few, so that solutions are equally fast."""
END_TO_END = tuple(replace(one, metric="end_to_end") for one in (*EAGER[1:], timing(3_000_000, 500_000)))
MEASURED = (TIMINGS, (*TIMINGS, *END_TO_END), (*END_TO_END, *END_TO_END, *END_TO_END, NOISY[0], None))
"""By one metric; by two, the faster ones by the lesser; nothing by gpu_cold but what is noisy."""


def drawn(draw: random.Random, number: int, timings: Sequence[Timing | None] = TIMINGS) -> Evaluation:
    """Of a few problems and solutions, edited now and then, at times that coincide now and then."""
    name, of = f"solution_{draw.randrange(4)}", f"problem_{draw.randrange(2)}"
    place, verdict = draw.choice(PLACES), draw.choice(VERDICTS)
    minute = number // 2
    expected = Verdict.TIMEOUT if draw.random() < 0.05 else Verdict.PASSED
    facts = {
        "id": f"{draw.randrange(1 << 32):08x}-{number}",
        "started_at": f"2026-11-{1 + minute // 60:02d}T12:{minute % 60:02d}:00.000+00:00",
        "problem": problem(of, "bb" if draw.random() < number / 300 else "aa"),
        "solution": solution(name, draw.choice(("11", "22")), expected_verdict=expected),
        "environment": place,
        "config": draw.choice(CONFIGS),
        "cases": draw.choice(ASKED[of]),
    }
    if verdict.passed:
        return timed(**facts, timing=_measured(place, draw, timings))
    return broken(verdict=verdict, **facts)


def _measured(place: Environment, draw: random.Random, timings: Sequence[Timing | None]) -> Timing | None:
    return None if place.backend == "sim" else draw.choice(timings)


WANTED = [
    Wanted(place, config)
    for place in (None, *dict.fromkeys(place.fingerprint for place in PLACES))
    for config in (None, *dict.fromkeys(map(config_hash, CONFIGS)))
]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_superseded_changes_no_board(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    Journal(tmp_path, "run").append_all([drawn(draw, number, MEASURED[seed % 3]) for number in range(300)])
    with open_index(tmp_path) as index:
        every, tallies = index.entries(), index.tallies()
        left = index.newest()
        boards = [(wanted, make_board(tallies, left, wanted)) for wanted in WANTED]
    reasons = {standing.why_unranked for _, made in boards for standing in made.standings}
    assert any(tells(reason, "end to end") for reason in reasons) is (seed % 3 > 0)
    for wanted, made in boards:
        assert made == board_of(every, wanted)
    assert (len(every), len(left) < 300) == (300, True)
    assert len(reasons) > 5


def superseded(results: Path, *evaluations: Evaluation) -> Board:
    """The board of what the index leaves, the same as of all."""
    Journal(results, "run").append_all(evaluations)
    with open_index(results) as index:
        made = make_board(index.tallies(), index.newest(), Wanted())
        assert made == board_of(index.entries(), Wanted())
    return made


def test_the_baseline_is_that_of_the_newest_measurement_though_it_was_neither_fast_nor_the_last_word(
    tmp_path: Path,
) -> None:
    fast, slow = timing(3_000_000, 1_000_000), compiled(timing(3_000_000, 2_000_000))
    last = broken("relu", "plain", day=3)
    made = superseded(tmp_path, timed(day=1, timing=fast), timed(day=2, id="slow", timing=slow), last)
    assert made.baseline == "compile"


def test_a_case_asked_for_once_elsewhere_stays_one_of_the_problems(tmp_path: Path) -> None:
    once = timed(day=1, id="once", environment=other_gpu(), cases=("full", "odd", "small"))
    made = superseded(tmp_path, once, timed(day=2, id="again", environment=other_gpu()), timed(day=3))
    assert made.problems[0].cases == ("full", "odd", "small")


def test_a_fast_measurement_end_to_end_hides_no_slower_one_of_the_device(tmp_path: Path) -> None:
    first = timed(day=1, id="cold", timing=timing(3_000_000, 1_000_000))
    waiting = [timed(day=day, id=f"day {day}", timing=end_to_end(500_000)) for day in (2, 3)]
    made = superseded(tmp_path, first, *waiting)
    (standing,) = made.standings
    assert (standing.entry.id, standing.rank) == ("cold", 1)


def test_one_noisy_measurement_of_the_device_says_that_the_reference_does_not_wait(tmp_path: Path) -> None:
    noisy = timed(day=1, id="noisy", timing=NOISY[0])
    waiting = [timed(day=day, id=f"day {day}", timing=end_to_end(500_000)) for day in (2, 3)]
    (standing,) = superseded(tmp_path, noisy, *waiting).standings
    assert (standing.entry.id, standing.rank) == ("day 3", None)


def end_to_end(solution_ns: int) -> Timing:
    return replace(timing(3_000_000, solution_ns), metric="end_to_end")


def test_history_is_whole_though_its_measurements_are_superseded(tmp_path: Path) -> None:
    Journal(tmp_path, "run").append_all([timed(day=day, id=f"day {day}") for day in range(1, 6)])
    with open_index(tmp_path) as index:
        made: Board = make_board(index.tallies(), index.newest(), Wanted())
        assert len(index.newest()) == 1
        found = measurements(made.problems[0], index.entries(problem="relu"))
    assert [entry.id for entry in found] == ["day 1", "day 2", "day 3", "day 4", "day 5"]
