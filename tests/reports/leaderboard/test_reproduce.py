"""The command that repeats an evaluation."""

from __future__ import annotations

from harness.records.config import Config, CorrectnessConfig, LimitsConfig, TimingConfig
from harness.reports.leaderboard.reproduce import repetition
from tests.reports.leaderboard.samples import CASES, problem, simulated, timed


def test_the_command_names_everything_that_inputs_follow_from() -> None:
    repeat = repetition(timed(), CASES)
    assert repeat.command == "harness run --problem relu --solution plain --backend cuda --seed 5692163613755307619"
    assert repeat.config is None


def test_a_part_of_the_cases_is_named() -> None:
    repeat = repetition(simulated(cases=("small", "odd")), ("full", "small", "odd"))
    assert repeat.command.endswith("--backend sim --seed 5692163613755307619 --case small --case odd")


def test_changed_settings_stand_in_a_file() -> None:
    config = Config(
        CorrectnessConfig(seeds=1), TimingConfig(baselines=("eager", "compile")), LimitsConfig(parallel_builds=4)
    )
    repeat = repetition(timed(config=config), CASES)
    assert repeat.command.endswith("--config repeat.yaml")
    assert repeat.config == (
        'correctness:\n  seeds: 1\ntiming:\n  baselines: ["eager", "compile"]\nlimits:\n  parallel_builds: 4'
    )


def test_names_are_quoted_for_the_shell() -> None:
    repeat = repetition(timed(problem=problem("a; rm -rf $HOME")), CASES)
    assert repeat.command.startswith("harness run --problem 'a; rm -rf $HOME' --solution")
