"""Environments whose speeds may be compared."""

from __future__ import annotations

from dataclasses import replace

from harness.gate.speed import counterpart, differences, nearest, obstacle, other_environments
from harness.model.environment import YOUNG_FLAGS
from tests.examples import environment, sim_environment
from tests.gate.builders import snapshot_of, timed

HERE = environment()
KEY = ("maxpool2d", "tiled")


def test_differing_facts_are_named() -> None:
    here = environment(driver="590.1", torch_cuda=None, flags={"cudnn_allow_tf32": False})
    assert [told.replace(",", "").split() for told in differences(HERE, here)] == [
        ["driver", "580.65.06", "there", "590.1", "here"],
        ["torch_cuda", "13.0", "there", "unknown", "here"],
        ["cudnn_allow_tf32", "True", "there", "False", "here"],
    ]


def test_the_commit_makes_no_difference() -> None:
    assert differences(HERE, environment(commit="other")) == []
    assert other_environments(snapshot_of(timed(1_000_000)), [KEY], environment(commit=None)) == []


def test_a_solution_that_the_snapshot_does_not_know_makes_no_difference() -> None:
    assert other_environments(snapshot_of(timed(1_000_000)), [("relu", "tiled")], environment(driver="590.1")) == []


def test_times_of_two_metrics_are_not_compared() -> None:
    evaluation = timed(1_000_000)
    assert evaluation.timing is not None
    synchronising = replace(evaluation, timing=replace(evaluation.timing, metric="end_to_end"))
    snapshot = snapshot_of(evaluation)
    same, other = counterpart(snapshot, evaluation), counterpart(snapshot, synchronising)
    assert same is not None
    assert same == other
    assert obstacle(same, evaluation) is None
    why = obstacle(same, synchronising)
    assert why is not None
    assert "end_to_end" in why
    assert "gpu_cold" in why


def test_what_was_accepted_on_the_simulator_has_no_speed() -> None:
    simulated = timed(1_000_000)
    snapshot = snapshot_of(type(simulated)(**{**vars(simulated), "timing": None, "environment": sim_environment()}))
    assert nearest(snapshot, *KEY, HERE) is None


def test_flags_that_were_not_recorded_yet_are_no_difference() -> None:
    here = environment(flags={"cudnn_allow_tf32": True, **YOUNG_FLAGS})
    assert differences(environment(), here) == []
    switched = environment(flags={**here.flags, "flash_sdp": False})
    (told,) = differences(environment(), switched)
    assert told.startswith("flash_sdp unknown ")
