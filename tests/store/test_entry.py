"""Entries: an evaluation in one row."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from harness.model.build import CompiledBaseline
from harness.model.config import Config, CorrectnessConfig, TimingConfig
from harness.model.evaluation import Evaluation
from harness.model.statistics import Interval
from harness.model.verdict import Verdict
from harness.store.entry import config_hash, entry_of
from harness.store.line import NoRecord, from_line, outline_from_line, to_line
from tests.examples import (
    build,
    check,
    environment,
    failed,
    measured,
    passed,
    sim_environment,
    timing,
    wrong_comparison,
)
from tests.model.test_fastest import repeated

MEASURED = passed(timing=measured())
TIMED = passed(timing=timing(eager_ns=3_000_000, solution_ns=1_500_000), builds=(build(),), checks=(check(), check()))


def bounds(interval: Interval | None) -> tuple[float, float, float]:
    assert interval is not None
    return interval.estimate, interval.low, interval.high


def test_an_entry_says_what_an_evaluation_says() -> None:
    entry = entry_of(TIMED)
    assert (entry.id, entry.run, entry.problem, entry.solution) == (
        "20261121T031040-b1084b09",
        "20261121T031035Z-ef9a",
        "maxpool2d",
        "tiled",
    )
    assert (entry.backend, entry.cases, entry.verdict) == ("cuda", ("full", "small"), Verdict.PASSED)
    assert (entry.key, entry.environment) == (TIMED.key, environment().fingerprint)
    assert (entry.baseline, entry.baseline_ns, entry.solution_ns) == ("eager", 3_000_000, 1_500_000)
    assert bounds(entry.speedup) == pytest.approx((2.0, 1.9940016, 2.0060164))
    assert entry.noise is None


AGAINST_TWO = passed(
    timing=repeated(eager=(3_000_000,), compile=(2_000_000,), solution=(1_000_000,)),
    compiled=(CompiledBaseline("compile", 5.0, 1, 0, 0),),
)


def test_of_several_baselines_the_fastest_is_kept_beside_the_first() -> None:
    entry = entry_of(AGAINST_TWO)
    assert (entry.baseline, bounds(entry.speedup)[0]) == ("eager", pytest.approx(3.0))
    assert entry.fastest is not None
    assert (entry.fastest.baseline, entry.fastest.ties, entry.fastest.time_ns) == ("compile", (), 2_000_000)
    assert bounds(entry.fastest.speedup) == pytest.approx((2.0, 1.9939924, 2.0060257))


def test_one_baseline_alone_is_no_fastest_one() -> None:
    assert entry_of(TIMED).fastest is None


@pytest.mark.parametrize("evaluation", [failed(), passed(environment=sim_environment())])
def test_what_was_not_timed_has_no_times(evaluation: Evaluation) -> None:
    entry = entry_of(evaluation)
    assert (entry.baseline, entry.baseline_ns, entry.solution_ns, entry.speedup, entry.noise) == (None,) * 5


def test_a_timing_of_too_few_blocks_is_noise() -> None:
    entry = entry_of(passed(timing=timing(blocks=5)))
    assert entry.speedup is None
    assert entry.noise is not None
    assert "too few blocks" in entry.noise


def test_another_expected_verdict_is_kept() -> None:
    solution = dataclasses.replace(passed().solution, expected_verdict=Verdict.TIMEOUT)
    assert entry_of(passed(solution=solution)).expected_verdict is Verdict.TIMEOUT


@pytest.mark.parametrize(
    "evaluation",
    [TIMED, MEASURED, AGAINST_TWO, failed(checks=(check(), check(wrong_comparison()))), failed(checks=()), passed()],
)
def test_the_outline_of_a_line_gives_the_same_entry_as_the_whole(evaluation: Evaluation) -> None:
    assert entry_of(outline_from_line(to_line(evaluation))) == entry_of(evaluation)


def test_the_outline_of_a_timing_has_its_headline_alone() -> None:
    assert MEASURED.timing is not None
    timing = outline_from_line(to_line(MEASURED)).timing
    assert timing is not None
    assert (timing.rows, timing.memory) == ((), ())
    assert timing.block_ns("solution") == MEASURED.timing.block_ns("solution")


def test_an_entry_says_what_the_control_shows() -> None:
    entry = entry_of(MEASURED)
    assert (entry.metric, entry.speed) == ("gpu_cold", "faster")
    assert bounds(entry.control) == pytest.approx((1.0, 0.9970, 1.0030), abs=0.001)
    assert (entry_of(TIMED).speed, entry_of(TIMED).control, entry_of(failed()).speed) == ("faster", None, None)


def _changed(**changes: Any) -> str:
    data = json.loads(to_line(MEASURED))
    for place, value in changes.items():
        *path, last = place.split("__")
        target = data
        for key in path:
            target = target[int(key) if key.isdigit() else key]
        target[last] = value
    return json.dumps(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"timing__turns__3__call_ns": [1.5]},
        {"timing__turns__3__call_ns": []},
        {"timing__turns__3__wall_ns": "one"},
        {"timing__turns__3__arm": "fast"},
        {"timing__turns": 1},
        {"timing__turns__3__queued": ["two"]},
        {"timing__turns__3__canary_ns": 0.5},
        {"timing__turns__3__gpu": 1},
        {"timing__turns__3__gpu__sm_mhz": [1, 2, 3]},
        {"timing__turns__3__gpu__power_w": "hot"},
        {"timing__turns__3__gpu__more": 1},
        {"timing__turns__3__gpu__throttled": [1]},
        {"timing__metric": "gpu_hot"},
        {"timing__floors": {}},
        {"timing__floors__kernel_ns": 0},
        {"timing__fresh_at": ["late"]},
        {"timing__baselines": ["eager", "fast"]},
        {"timing__case": 1},
        {"timing": []},
        {"verdict": "slow"},
        {"schema": 4},
    ],
)
def test_what_an_outline_looks_at_is_refused_in_the_words_of_the_whole(changes: dict[str, Any]) -> None:
    line = _changed(**changes)
    with pytest.raises(NoRecord) as of_whole:
        from_line(line)
    with pytest.raises(NoRecord) as of_outline:
        outline_from_line(line)
    assert str(of_outline.value) == str(of_whole.value)


def test_equal_settings_have_equal_hashes() -> None:
    assert config_hash(Config()) == config_hash(Config(timing=TimingConfig(blocks=12)))
    assert config_hash(Config()) != config_hash(Config(timing=TimingConfig(blocks=13)))
    assert len(config_hash(Config())) == 8


def test_a_line_from_before_stages_decided_stays_as_it_is() -> None:
    line = to_line(MEASURED)
    assert "decided_by" not in json.loads(line)
    assert "cascade" not in json.loads(line)["config"]["correctness"]
    assert to_line(from_line(line)) == line


def test_who_decided_is_kept() -> None:
    one = failed(decided_by="simulator", config=Config(CorrectnessConfig(cascade="auto")))
    assert from_line(to_line(one)) == one
    assert json.loads(to_line(one))["decided_by"] == "simulator"
