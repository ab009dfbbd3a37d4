"""Reasons for noise: each fires where it must, and holds its peace where something only looks alike."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from harness.model.arms import ArmName, Metric
from harness.model.timing import GpuState, Row, TimerOverhead, Timing, Turn
from tests.examples import measured, timing
from tests.wording import tells

QUIET = GpuState((1755, 1980), 2619, 412.5, 90.5, 48, (), 0)


def slowed(by: Callable[[Turn], float]) -> Callable[[Turn], Turn]:
    """Each turn's calls longer by a factor."""

    def change(turn: Turn) -> Turn:
        ns = tuple(round(ns * by(turn)) for ns in turn.call_ns)
        return replace(turn, call_ns=ns, wall_ns=sum(ns) + 50)

    return change


def with_gpu(where: Callable[[Turn], bool], state: GpuState | None) -> Callable[[Turn], Turn]:
    return lambda turn: replace(turn, gpu=state if where(turn) else QUIET)


def test_a_quiet_measurement_has_no_reason_and_no_remark() -> None:
    assert (measured().noises, measured().noise, measured().oddities) == ((), None, ())


def test_an_older_record_has_none_either() -> None:
    assert timing().noises == ()


def test_too_few_blocks() -> None:
    (noise,) = measured(blocks=5).noises
    assert tells(noise, "too few blocks")
    assert measured(blocks=6).noise is None


def test_a_wide_interval() -> None:
    rng = random.Random(4)
    found = measured(turns=slowed(lambda turn: rng.uniform(0.7, 1.3) if turn.arm == "solution" else 1.0))
    assert tells(found.noise, "interval", "speed-up", "15.4", "5")
    assert measured(turns=slowed(lambda turn: rng.uniform(0.97, 1.03))).noise is None


def test_calls_below_the_floor() -> None:
    def short(turn: Turn) -> Turn:
        ns = {"eager": 21_000, "control": 21_000, "solution": 7_100}[turn.arm]
        return replace(turn, call_ns=(ns, ns), wall_ns=3 * ns)

    (noise,) = measured(turns=short).noises
    assert tells(noise, "solution", "7.1 µs", "empty kernel", "2.4 µs")
    assert measured(turns=short, floors=None).noise is None


def test_each_clock_has_a_floor_of_its_own() -> None:
    def short(turn: Turn) -> Turn:
        return replace(turn, call_ns=(21_000, 21_000), wall_ns=63_000)

    floors = TimerOverhead(1_500.0, 2_400.0, idle_ns=7_100.0)
    assert measured(turns=short, floors=floors).noise is None
    by_host = measured(turns=short, floors=floors, metric="end_to_end")
    assert by_host.speedup is None
    assert tells(by_host.noise, "eager", "21 µs", "empty kernel", "7.1 µs")
    older = TimerOverhead(1_500.0, 2_400.0)
    assert measured(turns=short, floors=older, metric="end_to_end").noise is None


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        (
            slowed(lambda turn: 0.98 if turn.arm == "control" else 1.0),
            ("eager", "A/A", "1.0205 [1.0164, 1.0247]", "99.4 %"),
        ),
        (
            slowed(lambda turn: 1 + 0.004 * turn.block if turn.arm == "solution" else 1.0),
            ("speed-up", "drifted", "-4.3 %", "2.0 %"),
        ),
        (slowed(lambda turn: 1 + 0.008 * turn.block), ("eager", "drifted", "+8.5 %", "5.0 %")),
        (with_gpu(lambda turn: turn.block == 4, replace(QUIET, other_processes=2)), ("another program", "6 of 72")),
    ],
    ids=["control-not-1", "ratio-drifts", "times-drift", "another-program"],
)
def test_one_reason_is_told_with_its_numbers(turns: Callable[[Turn], Turn], words: tuple[str, ...]) -> None:
    (noise,) = measured(turns=turns).noises
    assert tells(noise, *words)


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(slowed(lambda turn: 1 + 0.004 * turn.block), id="drift-of-all-arms"),
        pytest.param(slowed(lambda turn: 1.04 if turn.block == 3 else 1.0), id="one-slow-block"),
        pytest.param(slowed(lambda turn: 1.01 if turn.block % 3 == 0 else 1.0), id="modes-that-lie-close"),
        pytest.param(slowed(lambda turn: 1 + 0.04 * (turn.block * 5 % 12) / 12), id="as-far-apart-with-all-between"),
        pytest.param(
            lambda turn: replace(turn, canary_ns=400_000 if turn.arm == "solution" and turn.block > 6 else 160_000),
            id="canary-after-the-solution",
        ),
        pytest.param(
            lambda turn: replace(turn, canary_ns=900_000 if turn.block == 11 else 160_000), id="canary-stumbled-once"
        ),
        pytest.param(lambda turn: replace(turn, fill_ns=90_000 + 9_000 * (turn.block > 6)), id="busy-before-all"),
        pytest.param(
            with_gpu(lambda turn: turn.block < 1, replace(QUIET, throttled=("sw thermal slowdown",))),
            id="moment-of-heat",
        ),
        pytest.param(
            with_gpu(lambda turn: turn.block > 0, replace(QUIET, throttled=("sw power cap",))), id="power-cap"
        ),
        *(pytest.param(with_gpu(lambda turn: True, state), id="unknown-gpu") for state in (None, GpuState())),
    ],
)
def test_what_only_looks_alike_is_no_reason(turns: Callable[[Turn], Turn]) -> None:
    found = measured(turns=turns)
    assert found.noises == found.oddities == ()


def test_a_control_is_held_to_99_percent() -> None:
    """Ten of twelve blocks lie above 1: an interval of 95 % leaves it out, as of one fair run in twenty."""
    found = measured(turns=slowed(lambda turn: 0.997 if turn.arm == "control" and turn.block > 1 else 1.003))
    assert found.control_ratio is not None
    assert found.control_ratio.low > 1
    assert found.noise is None


def test_a_wide_control() -> None:
    rng = random.Random(4)
    found = measured(turns=slowed(lambda turn: rng.uniform(0.75, 1.25) if turn.arm == "control" else 1.0))
    assert found.noise is None  # both arms of the speed-up are quiet
    assert found.delta > 0.05  # what is closer counts as equal


def test_scatter_is_no_drift() -> None:
    rng = random.Random(7)
    assert measured(turns=slowed(lambda turn: rng.uniform(0.96, 1.04))).noises == ()


def test_two_clock_modes() -> None:
    found = measured(turns=slowed(lambda turn: 1.04 if turn.block % 3 == 0 else 1.0))
    of_eager, of_solution = found.noises
    assert tells(of_eager, "eager", "two speeds", "3000 µs", "67 %", "3123 µs")
    assert tells(of_solution, "solution", "two speeds", "999.8 µs", "67 %", "1040 µs")


def test_a_canary_that_moved() -> None:
    slow = measured(turns=lambda turn: replace(turn, canary_ns=160_000 + 30_000 * (turn.block > 6)))
    (noise,) = slow.noises
    assert tells(noise, "fill", "160 µs", "190 µs", "15 %")
    fast = measured(turns=lambda turn: replace(turn, canary_ns=190_000 - 30_000 * (turn.block > 6)))
    assert fast.noise is not None


def test_memory_that_was_busy_before_the_turns_of_one_side() -> None:
    def busy(arm: ArmName, slow_ns: int) -> tuple[str, ...]:
        return measured(turns=lambda turn: replace(turn, fill_ns=slow_ns if turn.arm == arm else 90_000)).noises

    (noise,) = busy("eager", 94_000)
    assert tells(noise, "eager", "94 µs", "solution", "90 µs", "2 %")
    assert busy("solution", 92_000) != ()
    assert busy("eager", 91_700) == busy("control", 99_000) == ()


def test_memory_that_is_busy_since_the_solution_was_loaded() -> None:
    def since(still_ns: float | None) -> tuple[str, ...]:
        floors = TimerOverhead(1_500.0, 2_400.0, still_ns)
        return measured(turns=lambda turn: replace(turn, fill_ns=96_000), floors=floors).noises

    (noise,) = since(90_000)
    assert tells(noise, "eager", "96 µs", "loaded", "90 µs", "5 %")
    assert since(92_000) == since(None) == ()


@pytest.mark.parametrize(
    "word", ["sw thermal slowdown", "hw thermal slowdown", "hw slowdown", "HW power brake slowdown"]
)
def test_clocks_held_back_by_heat_or_hardware(word: str) -> None:
    hot = replace(QUIET, throttled=("sw power cap", word))
    found = measured(turns=lambda turn: replace(turn, gpu=hot if turn.block < 2 else QUIET))
    (noise,) = found.noises
    assert tells(noise, "clocks", "12 of 72", word)
    assert "power cap" not in noise


def unqueued(arm: ArmName, turns: int) -> Callable[[Turn], Turn]:
    """The first call of an arm in its first turns came too late."""
    left = iter([False] * turns)

    def change(turn: Turn) -> Turn:
        return replace(turn, queued=(next(left, True), True)) if turn.arm == arm else turn

    return change


@pytest.mark.parametrize(("arm", "name"), [("solution", "the solution"), ("eager", "eager")])
def test_a_device_that_waited_for_the_host(arm: ArmName, name: str) -> None:
    (noise,) = measured(turns=unqueued(arm, 5)).noises
    assert tells(noise, "5 of 48", name, "waited for the host", "10 %", "gpu_cold")


def test_a_few_late_calls_move_no_median() -> None:
    found = measured(turns=unqueued("solution", 4))
    assert found.noises == found.oddities == ()


@pytest.mark.parametrize(("late", "noisy"), [(1, False), (2, True)])
def test_of_short_calls_fewer_may_be_late(late: int, noisy: bool) -> None:
    """A block's value is a mean there, which takes in what is longer by less than half: 1 and 2 of 72 calls."""
    turns = unqueued("eager", late)

    def short(turn: Turn) -> Turn:
        queued = (*turns(turn).queued, True) if turn.arm == "eager" else ()
        return replace(turn, call_ns=(9_000, 9_100, 9_050), tail_ns=(), launch_ns=(), queued=queued)

    found = measured(turns=short, floors=TimerOverhead(1_500.0, 2_400.0))
    assert found.is_averaged
    assert any(tells(reason, f"{late} of 72", "eager", "waited") for reason in found.noises) is noisy


def test_end_to_end_times_hold_launches_anyway() -> None:
    assert measured(turns=unqueued("solution", 20), metric="end_to_end").noises == ()


@pytest.mark.parametrize("metric", ["gpu_cold", "end_to_end"])
@pytest.mark.parametrize("further", ["gpu_warm", "graph"])
@pytest.mark.parametrize(("arm", "name"), [("solution", "the solution"), ("eager", "eager")])
def test_a_further_metric_between_events_that_holds_launches_says_so(
    metric: Metric, further: Metric, arm: ArmName, name: str
) -> None:
    """As of an arm that waits for the device by itself: the headline went over to end_to_end, this one can't."""
    found = measured(metric=metric)
    late = unqueued(arm, 3)
    row = Row(further, tuple(late(turn) for turn in found.rows[0].turns))
    (remark,) = replace(found, rows=(row,)).oddities
    assert tells(remark, further, "3 of 24", name, "waited")
    assert replace(found, rows=(row,)).noises == ()


def test_further_metrics_are_told_of_where_more_than_a_call_in_ten_was_late() -> None:
    found = measured()
    late = unqueued("solution", 2)
    row = Row("gpu_warm", tuple(late(turn) for turn in found.rows[0].turns))
    assert found.oddities == replace(found, rows=(row,)).oddities == ()


def test_end_to_end_as_a_further_metric_holds_launches_anyway() -> None:
    found = measured()
    late = unqueued("solution", 12)
    row = Row("end_to_end", tuple(late(turn) for turn in found.rows[0].turns))
    assert replace(found, rows=(row,)).oddities == ()


def test_the_controls_own_proofs_are_not_the_headlines() -> None:
    assert measured(turns=unqueued("control", 20)).noises == ()


def test_the_first_of_several_reasons_is_the_reason() -> None:
    shared = replace(QUIET, other_processes=1)
    found = measured(turns=lambda turn: replace(unqueued("solution", 24)(turn), gpu=shared))
    assert len(found.noises) == 2
    assert found.noise == found.noises[0]


def test_reasons_are_derived_and_not_recorded() -> None:
    assert {"noise", "noises", "speedup"}.isdisjoint(Timing.__dataclass_fields__)


def compiled_too(turns: Callable[[Turn], Turn] = lambda turn: turn) -> Timing:
    """With a second baseline, whose turns are as `turns` changes them."""
    found = measured()
    theirs = [turns(replace(turn, arm="compile")) for turn in found.turns if turn.arm == "eager"]
    return replace(found, baselines=("eager", "compile"), turns=(*found.turns, *theirs), rows=())


def test_a_further_baseline_is_noisy_by_itself() -> None:
    """The headline isn't over it."""
    assert compiled_too().noises_over("compile") == ()
    late = compiled_too(unqueued("compile", 24))
    (noise,) = late.noises_over("compile")
    assert tells(noise, "24 of 48", "compile", "waited", "10 %")
    assert (late.noises, late.noises_over("eager")) == ((), ())
    drifts = compiled_too(slowed(lambda turn: 1 + 0.1 * turn.block / 11))
    of_ratio, of_times = drifts.noises_over("compile")
    assert tells(of_ratio, "speed-up", "drifted")
    assert tells(of_times, "compile", "drifted")
    wanders = compiled_too(slowed(lambda turn: 1 + 0.045 * turn.block / 11))
    assert tells(wanders.noises_over("compile")[0], "speed-up", "drifted", "+4.4 %")
    rng = random.Random(4)
    wide = compiled_too(slowed(lambda turn: rng.uniform(0.7, 1.3)))
    assert any(tells(reason, "wide", "5 %") for reason in wide.noises_over("compile"))
    jumps = compiled_too(slowed(lambda turn: 1.1 if turn.block % 3 else 1.0))
    (noise,) = jumps.noises_over("compile")
    assert tells(noise, "compile", "two speeds")
    short = compiled_too(lambda turn: replace(turn, call_ns=(7_000, 7_000)))
    assert tells(short.noises_over("compile")[0], "compile", "7 µs", "empty kernel")


def test_below_the_floor_equal_arms_have_no_ratio_either() -> None:
    def short(turn: Turn) -> Turn:
        return replace(turn, call_ns=(7_500 if turn.arm == "control" else 7_000,) * 2)

    found = measured(turns=short)
    assert (found.speedup, found.control_ratio) == (None, None)
    assert not any("A/A" in reason for reason in found.noises)


@pytest.mark.parametrize(("eager_ns", "solution_ns", "about"), [(42_400, 22_400, "2.00"), (12_400, 22_400, "0.50")])
def test_what_starting_a_kernel_makes_of_a_ratio_is_a_remark(eager_ns: int, solution_ns: int, about: str) -> None:
    def short(turn: Turn) -> Turn:
        return replace(turn, call_ns=(solution_ns if turn.arm == "solution" else eager_ns,) * 2)

    (remark,) = measured(turns=short).oddities
    assert tells(remark, "2.4 µs", "H100", "speed-up", about)
    assert measured(turns=short, metric="end_to_end").oddities == ()
    assert measured(turns=short, floors=None).oddities == ()


def test_of_equal_short_calls_and_of_long_ones_it_makes_nothing() -> None:
    assert measured(turns=lambda turn: replace(turn, call_ns=(22_400, 22_400))).oddities == ()
    assert measured().oddities == ()
