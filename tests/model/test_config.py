"""Configs: values that can't work are refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from harness.model.config import Config, CorrectnessConfig, LimitsConfig, TimingConfig
from harness.workspace.yaml_file import read_yaml
from tests.machine import ROOT


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (CorrectnessConfig, {"seeds": 0}),
        (CorrectnessConfig, {"sampled_blocks": 1}),
        (TimingConfig, {"blocks": 5}),  # there would be no interval
        (TimingConfig, {"calls_per_turn": 0}),
        (TimingConfig, {"metrics": ("gpu_cold",)}),
        (TimingConfig, {"metrics": ("graph", "forward")}),  # it comes by itself where a call is a training step
        (TimingConfig, {"warmup_turns": 0}),
        (TimingConfig, {"budget_s": 0.0}),
        (TimingConfig, {"budget_s": math.nan}),
        (TimingConfig, {"budget_s": math.inf}),
        (TimingConfig, {"checked_turns": -1}),
        (TimingConfig, {"lock_sm_mhz": 0}),
        (LimitsConfig, {"build_s": 0.0}),
        (LimitsConfig, {"turn_s": -1.0}),
        (LimitsConfig, {"load_s": math.inf}),
        (LimitsConfig, {"parallel_builds": -1}),
        (LimitsConfig, {"worker_memory_gib": 0.0}),
        (Config, {"timing": 3}),
    ],
)
def test_a_value_that_cannot_work_is_refused(kind: type, values: dict[str, Any]) -> None:
    (key,) = values
    with pytest.raises(ValueError, match=key):
        kind(**values)


@pytest.mark.parametrize("precision", [-0.01, 0.0, 0.0015, 0.003, 1.0, math.nan])
def test_a_precision_that_no_interval_reaches_is_refused(precision: float) -> None:
    with pytest.raises(
        ValueError,
        match=r"precision .*0\.0038 .*±0\.3 %",
    ):
        TimingConfig(precision=precision)
    assert TimingConfig(precision=0.0038).precision == 0.0038


def test_more_processes_reach_a_finer_precision() -> None:
    assert TimingConfig(precision=0.0025, processes=3).precision == 0.0025
    with pytest.raises(ValueError, match=r"0\.0025 "):
        TimingConfig(precision=0.0024, processes=3)


def test_a_clock_is_locked_only_where_something_is_timed() -> None:
    locked = Config().but("timing", lock_sm_mhz=1410)
    assert locked.timing.sm_mhz_asked == 1410
    assert locked.but("timing", enabled=False).timing.sm_mhz_asked is None
    assert locked.but("timing", lock_sm_mhz=None) == locked


@pytest.mark.parametrize("folder", ["configs", "harness/workspace/template/configs"])
def test_the_default_file_says_what_the_defaults_are(folder: str) -> None:
    assert read_yaml(Config, ROOT / folder / "default.yaml") == Config()


def test_a_younger_key_counts_where_it_is_set() -> None:
    """Journals from before it came keep their answers."""
    assert "pass_environment" not in Config().identity["limits"]
    other = Config(limits=LimitsConfig(pass_environment=("CUTLASS_PATH",)))
    assert other.identity["limits"]["pass_environment"] == ["CUTLASS_PATH"]
    assert "lock_sm_mhz" not in Config().identity["timing"]
    assert Config().but("timing", lock_sm_mhz=1410).identity["timing"]["lock_sm_mhz"] == 1410
    assert "fragile" not in Config().identity["correctness"]
    strict = Config(correctness=CorrectnessConfig(fragile="fail"))
    assert strict.identity["correctness"]["fragile"] == "fail"
    assert "sanitize" not in Config().but("correctness", sanitize=False).identity["correctness"]
    assert Config().but("correctness", sanitize=True).identity["correctness"]["sanitize"] is True


def test_where_something_is_found_is_no_part_of_the_question() -> None:
    assert Config(CorrectnessConfig(cascade="auto")).identity == Config().identity


def test_a_turn_may_take_longer_where_every_access_is_looked_at() -> None:
    limits = LimitsConfig(turn_s=30.0)
    assert Config(limits=limits).turn_limits == limits
    assert Config(limits=limits).but("correctness", sanitize=True).turn_limits == replace(limits, turn_s=300.0)


def test_the_least_own_share_is_part_of_the_question_where_it_is_asked_for() -> None:
    assert "min_own_share" not in Config().but("correctness", min_own_share=None).identity["correctness"]
    assert Config().but("correctness", min_own_share=0.25).identity["correctness"]["min_own_share"] == 0.25
    with pytest.raises(ValueError, match="min_own_share"):
        Config().but("correctness", min_own_share=1.5)
