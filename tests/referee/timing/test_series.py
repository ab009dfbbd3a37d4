"""Measurements by fresh workers, one after another: what is carried on, when it is enough, what is made of them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from harness.model.arms import ArmName, Metric
from harness.model.config import TimingConfig
from harness.model.timing import PeakMemory, Row, TimerOverhead, Timing, Turn
from harness.referee.timing.series import Series, joined
from tests.wording import tells

THREE = TimingConfig(blocks=100, precision=0.0025, processes=3, budget_s=300.0)
OFTEN = 30
"""Blocks, so many that their interval is about as narrow as what scatters there."""


def part(
    speedup: float = 2.0, blocks: int = OFTEN, scatter: float = 0.0, metric: Metric = "gpu_cold", **changes: object
) -> Timing:
    """Half of the blocks' ratios lie `scatter` above the speed-up, half as far below."""
    turns = []
    for block in range(blocks):
        off = 1 + (scatter if block % 2 else -scatter)
        times: dict[ArmName, float] = {"eager": 2e8 * speedup * off, "control": 2e8 * speedup * off, "solution": 2e8}
        turns += [Turn(arm, block, (round(ns),), 10**9) for arm, ns in times.items()]
    return replace(Timing("full", tuple(turns), metric=metric), **changes)  # type: ignore[arg-type]


def series_of(*parts: Timing, config: TimingConfig = THREE) -> Series:
    series = Series(config)
    for one in parts:
        series.add(one)
    return series


class Clock:
    """Stands still until it is told the time."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("scatter", "is_enough"), [(0.0024, True), (0.0026, False)])
def test_every_process_is_measured_until_it_scatters_within_the_precision(scatter: float, is_enough: bool) -> None:
    """What workers differ by left aside, which three of them average out."""
    for earlier in ((), (part(),), (part(), part())):
        assert series_of(*earlier).is_enough(part(scatter=scatter)) is is_enough


@pytest.mark.parametrize(("scatter", "is_enough"), [(0.009, True), (0.0097, False)])
def test_one_process_is_measured_until_its_own_interval_is_narrow_enough(scatter: float, is_enough: bool) -> None:
    """Of ±1 % workers take 0.3, as an independent error: 0.954 are left for the scatter."""
    one = replace(THREE, precision=0.01, processes=1)
    assert series_of(config=one).is_enough(part(scatter=scatter)) is is_enough
    assert series_of(config=one).is_enough(part(scatter=scatter, metric="end_to_end")) is is_enough


@pytest.mark.parametrize(("scatter", "is_enough"), [(0.0014, True), (0.0017, False)])
def test_three_processes_that_agree_leave_that_much_for_scatter(scatter: float, is_enough: bool) -> None:
    """Of ±0.25 % workers take 0.2, as an independent error: 0.15 are left."""
    assert series_of(part(scatter=scatter), part(scatter=scatter)).is_enough(part(scatter=scatter)) is is_enough


def test_without_a_precision_all_blocks_are_measured() -> None:
    assert not series_of(config=TimingConfig(precision=None)).is_enough(part())
    assert not series_of(part(), part(), config=TimingConfig(processes=3, precision=None)).is_enough(part())


@pytest.mark.parametrize(("speedup", "is_enough"), [(2.005, True), (2.0085, False)])
def test_the_last_process_goes_on_until_the_interval_over_all_is_narrow_enough(speedup: float, is_enough: bool) -> None:
    """Each by itself is exact; together they lie 0.25 or 0.425 % apart. So far the interval reaches up from the two
    that are alike, and down by the 0.2 % of workers."""
    earlier = (part(), part())
    found = part(speedup)
    assert found.speedup is not None
    assert found.speedup.half_width == pytest.approx(0.003, rel=1e-3)
    assert series_of(*earlier).is_enough(found) is is_enough
    assert series_of(part()).is_enough(found)  # the second of three doesn't wait for it
    whole = joined([*earlier, found]).speedup
    assert whole is not None
    assert (whole.half_width <= 0.0025) is is_enough


@pytest.mark.parametrize(("second", "is_enough"), [(2.0085, False), (2.011, True)])
def test_nobody_goes_on_for_what_no_further_block_can_give(second: float, is_enough: bool) -> None:
    """The last process is 1 % off. It might come nearer; the first two won't, and where they are too far apart
    already the interval that holds them both stays as wide."""
    assert series_of(part(), part(second)).is_enough(part(2.02)) is is_enough


def test_below_the_floor_the_last_process_waits_for_nobody() -> None:
    floors = TimerOverhead(1e8, 1e8)
    short = part(2.02, floors=floors)
    assert short.speedup is None
    assert series_of(part(floors=floors), part(floors=floors)).is_enough(short)


def test_where_all_together_are_below_the_floor_the_last_process_waits_for_nobody() -> None:
    floors = TimerOverhead(1e7, 6.67e7)
    last = part(2.02, scatter=0.01, floors=floors)
    last = replace(last, turns=tuple(replace(turn, call_ns=(turn.call_ns[0] + 10**6,)) for turn in last.turns))
    assert not last.is_below_floor("solution")
    earlier = (part(floors=floors), part(floors=floors))
    assert joined([*earlier, last]).is_below_floor("solution")
    assert series_of(*earlier).is_enough(last)


def test_what_a_process_leaves_of_the_budget_the_next_ones_have() -> None:
    clock = Clock()
    series = Series(THREE, clock)
    shares = []
    for took in (10.0, 40.0, 500.0):
        began = clock.now
        with series.blocks():
            while not series.is_share_spent:
                clock.now += 1.0
            shares.append(clock.now - began - 1.0)
            clock.now = began + took
        series.add(part())
    assert shares == [100.0, 145.0, 250.0]
    with series.blocks():  # of none that are left
        clock.now += 0.001
        assert series.is_share_spent


def test_the_time_of_a_measurement_that_fails_is_nobodys() -> None:
    clock = Clock()
    series = Series(THREE, clock)

    def failing() -> None:
        with series.blocks():
            clock.now += 290.0
            raise RuntimeError("a baseline failed")

    with pytest.raises(RuntimeError):
        failing()
    with series.blocks():
        clock.now += 99.0
        assert not series.is_share_spent


def test_a_process_begins_with_the_metric_of_those_before() -> None:
    assert series_of().metric == "gpu_cold"
    assert series_of(part()).metric == "gpu_cold"
    assert series_of(part(metric="end_to_end")).metric == "end_to_end"


def test_where_a_process_cannot_keep_the_metric_all_are_measured_anew() -> None:
    series = series_of(part(2.0), part(20.0, metric="end_to_end"))
    assert (len(series.parts), series.metric, series.is_complete) == (1, "end_to_end", False)
    (remark,) = series.remarks
    assert tells(remark, "full:", "anew end to end", "1 process", "gpu_cold isn't used")
    series.add(part(20.0, metric="end_to_end"))
    series.add(part(20.0, metric="end_to_end"))
    assert series.is_complete
    assert {one.metric for one in series.parts} == {"end_to_end"}
    assert len(series.remarks) == 1


def test_the_last_process_is_not_held_against_another_metric() -> None:
    assert series_of(part(), part()).is_enough(part(20.0, metric="end_to_end"))


def test_times_of_two_metrics_are_never_joined() -> None:
    with pytest.raises(ValueError, match="two metrics"):
        joined([part(), part(metric="end_to_end")])


def test_measurements_of_fresh_processes_become_one() -> None:
    timing = joined([part(blocks=8), part(blocks=6), part(blocks=7)])
    assert timing.fresh_at == (8, 14)
    assert len(timing.block_ns("solution")) == 21
    assert [turn.block for turn in timing.turns] == [block for block in range(21) for _ in range(3)]


def test_one_alone_is_itself() -> None:
    alone = part()
    assert joined([alone]) is alone


def test_an_arm_that_one_process_had_to_leave_out_is_in_none() -> None:
    two = part()
    other = [replace(turn, arm="compile") for turn in two.turns if turn.arm == "control"]
    warm = Row("gpu_warm", tuple(turn for turn in (*two.turns, *other) if turn.arm != "control"))
    both = replace(
        two,
        turns=(*two.turns, *other),
        baselines=("eager", "compile"),
        rows=(warm,),
        memory=(PeakMemory("compile", 5), PeakMemory("solution", 7)),
    )
    fewer = part(rows=(Row("gpu_warm", without("compile", warm.turns)),), memory=(PeakMemory("solution", 6),))
    without_control = replace(fewer, turns=without("control", fewer.turns))
    timing = joined([both, without_control])
    assert timing.baselines == ("eager",)
    assert {turn.arm for turn in timing.turns} == {"eager", "solution"}
    assert {turn.arm for turn in timing.rows[0].turns} == {"eager", "solution"}
    assert timing.memory == (PeakMemory("solution", 7),)


def without(arm: ArmName, turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    return tuple(turn for turn in turns if turn.arm != arm)


def row(metric: Metric, speedup: float, blocks: int = 6) -> Row:
    return Row(metric, without("control", part(speedup, blocks).turns))


def test_further_metrics_hold_the_turns_of_all_processes() -> None:
    parts = [part(rows=(row("gpu_warm", speedup), row("end_to_end", 3.0))) for speedup in (1.0, 1.5, 2.0)]
    timing = joined(parts)
    warm, end = timing.rows
    assert (warm.metric, warm.fresh_at, len(warm.turns)) == ("gpu_warm", (6, 12), 36)
    assert (end.metric, end.fresh_at) == ("end_to_end", (6, 12))
    of_warm = timing.of_row(warm).speedup
    assert of_warm is not None
    assert math.isclose(of_warm.estimate, 1.5, rel_tol=1e-6)
    assert of_warm.low < 1.0  # it holds each process's own
    assert of_warm.high > 2.0


def test_a_metric_that_one_process_lacks_is_in_none() -> None:
    both = part(rows=(row("graph", 2.0), row("gpu_warm", 2.0)))
    assert [one.metric for one in joined([both, part(rows=(row("gpu_warm", 2.0),))]).rows] == ["gpu_warm"]
    assert [one.metric for one in joined([part(rows=(row("gpu_warm", 2.0),)), both]).rows] == ["gpu_warm"]


def test_memory_is_the_most_that_any_process_took() -> None:
    first = part(memory=(PeakMemory("eager", 10, 100), PeakMemory("solution", 4)))
    second = part(memory=(PeakMemory("solution", 3, 70), PeakMemory("eager", 20, 90)))
    third = part(memory=(PeakMemory("eager", 5, None),))
    assert joined([first, second, third]).memory == (PeakMemory("eager", 20, 100), PeakMemory("solution", 4, 70))
