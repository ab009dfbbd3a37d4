"""The command that repeats an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.model.config import Config, CorrectnessConfig, LimitsConfig, TimingConfig
from harness.model.evaluation import Evaluation
from harness.reports.blocks import Prose
from harness.reports.evaluation import again, changed_settings
from tests.reports.leaderboard.samples import CASES, problem, simulated, timed


def command(evaluation: Evaluation, cases: Sequence[str] | None) -> str:
    prose = again(evaluation, cases).blocks[0]
    assert isinstance(prose, Prose)
    return prose.text.replace(" \\\n ", "")


def test_the_command_names_everything_that_inputs_follow_from() -> None:
    repeat = command(timed(), CASES)
    assert repeat == "harness run --problem relu --solution plain --backend cuda --seed 5692163613755307619"
    assert changed_settings(timed().config) is None


def test_a_part_of_the_cases_is_named() -> None:
    repeat = command(simulated(cases=("small", "odd")), ("full", "small", "odd"))
    assert repeat.endswith("--backend sim --seed 5692163613755307619 --case small --case odd")


def test_bare_files_are_named_as_files() -> None:
    repeat = command(simulated(cases=("full",)), None)
    assert repeat == "harness run plain.py --reference relu.py --backend sim --seed 5692163613755307619"


def test_bare_files_are_named_by_the_paths_that_were_named() -> None:
    made = simulated(cases=("full",))
    made = replace(
        made, problem=replace(made.problem, file="a/ref 1.py"), solution=replace(made.solution, file="b/s.py")
    )
    repeat = command(made, CASES)
    assert repeat.startswith("harness run b/s.py --reference 'a/ref 1.py' --backend sim ")
    assert "--case" not in repeat


def test_changed_settings_stand_in_a_file() -> None:
    config = Config(
        CorrectnessConfig(seeds=1), TimingConfig(baselines=("eager", "compile")), LimitsConfig(parallel_builds=4)
    )
    repeat = command(timed(config=config), CASES)
    assert repeat.endswith("--config repeat.yaml")
    assert changed_settings(config) == (
        'correctness:\n  seeds: 1\ntiming:\n  baselines: ["eager", "compile"]\nlimits:\n  parallel_builds: 4'
    )


def test_a_look_at_every_access_is_an_option_and_no_file() -> None:
    repeat = command(simulated(config=Config(CorrectnessConfig(sanitize=True)), cases=CASES), CASES)
    assert repeat.endswith(" --sanitize")


def test_names_are_quoted_for_the_shell() -> None:
    repeat = command(timed(problem=problem("a; rm -rf $HOME")), CASES)
    assert " 'a; rm -rf $HOME' " in repeat
