"""Which environment and config a board is of."""

from __future__ import annotations

import pytest

from harness.errors import UsageError
from harness.model.config import Config, CorrectnessConfig
from harness.reports.leaderboard.rules import Wanted
from harness.reports.leaderboard.words import rules
from harness.store.entry import config_hash
from tests.examples import environment
from tests.reports.leaderboard.samples import board, broken, other_gpu, simulated, timed
from tests.wording import tells

QUICK = Config(correctness=CorrectnessConfig(seeds=1))


def test_the_gpu_with_the_most_measured_solutions_is_chosen() -> None:
    made = board(
        timed(solution_name="a", environment=other_gpu(), day=9),
        timed(solution_name="a"),
        timed(solution_name="b"),
        *(simulated(solution_name=name) for name in "abcd"),
    )
    assert made.environment.label == environment().label
    assert next(c.label for c in made.other_environments) == other_gpu().label


def test_of_two_gpus_with_as_many_results_the_newer_is_chosen() -> None:
    made = board(timed(day=1), timed(day=2, environment=other_gpu()))
    assert made.environment.label == other_gpu().label


def test_failures_dont_make_an_environment_the_boards() -> None:
    made = board(timed(), *(broken(solution_name=name, environment=other_gpu(), day=9) for name in "abc"))
    assert made.environment.label == environment().label


@pytest.mark.parametrize("wanted", ["l4", other_gpu().fingerprint, other_gpu().label, "L4-torch"])
def test_an_environment_can_be_asked_for_by_a_part_of_its_name(wanted: str) -> None:
    made = board(timed(), timed(environment=other_gpu()), wanted=Wanted(environment=wanted))
    assert made.environment.label == other_gpu().label


def test_an_ambiguous_environment_is_an_error() -> None:
    with pytest.raises(UsageError, match="several"):
        board(timed(), timed(environment=other_gpu()), wanted=Wanted(environment="torch"))


def test_the_config_with_the_most_measured_solutions_is_chosen() -> None:
    made = board(timed(solution_name="a"), timed(solution_name="b"), timed(solution_name="c", config=QUICK, day=9))
    assert made.config.key == config_hash(Config())
    unranked = [(s.entry.solution, s.why_unranked) for s in made.standings if s.rank is None]
    ((name, reason),) = unranked
    assert name == "c"
    assert tells(reason, "config", config_hash(QUICK))


def test_another_config_can_be_asked_for() -> None:
    made = board(timed(), timed(config=QUICK), wanted=Wanted(config=config_hash(QUICK)[:5]))
    assert (made.config.key, [c.key for c in made.other_configs]) == (config_hash(QUICK), [config_hash(Config())])


def test_the_rules_say_what_is_not_compared() -> None:
    said = rules(board(timed(), timed(environment=other_gpu(), day=9), timed(config=QUICK, solution_name="a", day=2)))
    assert tells(said[0], f"Environment: {environment().label}", "1 other")
    assert tells(said[1], f"Config: {config_hash(QUICK)}", "1 other")
    assert tells(said[2], "Speed-up:", "eager over", "solution")
