"""Configs: values that can't work are refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from harness.records.config import Config, CorrectnessConfig, LimitsConfig, TimingConfig
from harness.workspace.yaml_file import read_yaml
from tests.machine import ROOT


@pytest.mark.parametrize("values", [{"seeds": 0}, {"sampled_blocks": 1}])
def test_correctness_needs_a_seed_and_two_blocks(values: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="seeds must be at least 1 and sampled_blocks at least 2"):
        CorrectnessConfig(**values)


def test_under_six_blocks_there_would_be_no_interval() -> None:
    with pytest.raises(ValueError, match="blocks must be at least 6"):
        TimingConfig(blocks=5)


@pytest.mark.parametrize(
    "values",
    [
        {"calls_per_turn": 0},
        {"warmup_turns": 0},
        {"budget_s": 0.0},
        {"checked_turns": -1},
        {"budget_s": math.nan},
        {"budget_s": math.inf},
    ],
)
def test_timing_needs_positive_values(values: dict[str, Any]) -> None:
    (key,) = values
    with pytest.raises(ValueError, match=f"timing: {key} must be (positive and finite|at least [01]); not "):
        TimingConfig(**values)


@pytest.mark.parametrize("precision", [-0.01, 0.0, 0.0015, 0.003, 1.0, math.nan])
def test_a_precision_that_no_interval_reaches_is_refused(precision: float) -> None:
    with pytest.raises(
        ValueError,
        match=r"precision must be 0\.0038 at least and below 1, .* differ by ±0\.3 %, which only more",
    ):
        TimingConfig(precision=precision)
    assert TimingConfig(precision=0.0038).precision == 0.0038


def test_more_processes_reach_a_finer_precision() -> None:
    assert TimingConfig(precision=0.0025, processes=3).precision == 0.0025
    with pytest.raises(ValueError, match=r"0\.0025 at least and below 1"):
        TimingConfig(precision=0.0024, processes=3)


@pytest.mark.parametrize(
    "values",
    [{"build_s": 0.0}, {"turn_s": -1.0}, {"parallel_builds": -1}, {"worker_memory_gib": 0.0}, {"load_s": math.inf}],
)
def test_limits_are_positive(values: dict[str, Any]) -> None:
    (key,) = values
    with pytest.raises(ValueError, match=f"limits: {key} must be positive and finite"):
        LimitsConfig(**values)


def test_a_clock_is_positive_and_locked_only_where_something_is_timed() -> None:
    with pytest.raises(ValueError, match="lock_sm_mhz must be positive"):
        TimingConfig(lock_sm_mhz=0)
    locked = Config().at_clock(1410)
    assert locked.timing.sm_mhz_asked == 1410
    assert locked.untimed().timing.sm_mhz_asked is None
    assert locked.at_clock(None) == locked


@pytest.mark.parametrize("folder", ["configs", "harness/workspace/template/configs"])
def test_the_default_file_says_what_the_defaults_are(folder: str) -> None:
    assert read_yaml(Config, ROOT / folder / "default.yaml") == Config()


def test_a_younger_key_counts_where_it_is_set() -> None:
    """Journals from before it came keep their answers."""
    assert "pass_environment" not in Config().identity()["limits"]
    other = Config(limits=LimitsConfig(pass_environment=("CUTLASS_PATH",)))
    assert other.identity()["limits"]["pass_environment"] == ["CUTLASS_PATH"]
    assert "lock_sm_mhz" not in Config().identity()["timing"]
    assert Config().at_clock(1410).identity()["timing"]["lock_sm_mhz"] == 1410
    assert "fragile" not in Config().identity()["correctness"]
    strict = Config(correctness=CorrectnessConfig(fragile="fail"))
    assert strict.identity()["correctness"]["fragile"] == "fail"
    assert "sanitize" not in Config().sanitized(False).identity()["correctness"]
    assert Config().sanitized(True).identity()["correctness"]["sanitize"] is True


def test_a_turn_may_take_longer_where_every_access_is_looked_at() -> None:
    limits = LimitsConfig(turn_s=30.0)
    assert Config(limits=limits).turn_limits == limits
    assert Config(limits=limits).sanitized(True).turn_limits == replace(limits, turn_s=300.0)


def test_the_least_own_share_is_part_of_the_question_where_it_is_asked_for() -> None:
    assert "min_own_share" not in Config().with_own_share(None).identity()["correctness"]
    assert Config().with_own_share(0.25).identity()["correctness"]["min_own_share"] == 0.25
    with pytest.raises(ValueError, match="min_own_share"):
        Config().with_own_share(1.5)
