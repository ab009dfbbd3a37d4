"""Measuring, with scripted arms and a scripted clock."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from harness.model.arms import ArmName, Metric
from harness.model.config import TimingConfig
from harness.model.timing import TimerOverhead, Timing, Turn
from harness.referee.timing.measure import looks, measure_row
from harness.referee.timing.measure import measure as measure_in
from harness.referee.timing.series import Clock, Series


class ScriptedArms:
    """Every call of an arm takes the same time, times what `vary` makes of the arm and the number of its turns; turns
    are written down."""

    metric: Metric = "gpu_cold"

    def __init__(
        self,
        eager_ns: int = 2_000,
        solution_ns: int = 1_000,
        compile_ns: int = 1_500,
        vary: Callable[[ArmName, int], float] = lambda arm, turns: 1.0,
    ) -> None:
        self._ns = {"eager": eager_ns, "solution": solution_ns, "compile": compile_ns, "control": eager_ns}
        self._vary = vary
        self.turns: list[tuple[ArmName, int]] = []
        self.warm_after = 0
        """Turns that were taken before samples began."""

    def is_late(self, turn: Turn) -> bool:
        return False

    @property
    def kernels(self) -> dict[ArmName, int]:
        return {}

    def warmed_up(self) -> None:
        self.warm_after = len(self.turns)

    def turn(self, arm: ArmName, calls: int, metric: Metric | None = None) -> Turn:
        self.turns.append((arm, calls))
        count = sum(one == arm for one, _ in self.turns)
        call_ns = tuple(int(self._ns[arm] * self._vary(arm, count)) for _ in range(calls))
        return Turn(arm, 0, call_ns, sum(call_ns) + 7, (5,) * calls)


def ticking(seconds: float) -> Callable[[], float]:
    """A clock that goes on by so much whenever it is read."""
    readings = iter(range(10**6))
    return lambda: next(readings) * seconds


def measure(
    arms: ScriptedArms,
    config: TimingConfig,
    rng: random.Random,
    most_calls: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
    clock: Clock = time.monotonic,
    floors: TimerOverhead | None = None,
) -> Timing:
    """A measurement by itself, the first of a series."""
    return measure_in(arms, config, rng, most_calls, Series(config, clock), progress, floors)


CONFIG = TimingConfig(
    case="large", warmup_turns=3, blocks=8, calls_per_turn=4, budget_s=100.0, control=False, precision=None
)


def test_every_block_is_balanced() -> None:
    timing = measure(ScriptedArms(), CONFIG, random.Random(1), 4, clock=ticking(0))
    blocks = [[turn.arm for turn in timing.turns if turn.block == block] for block in range(8)]
    for block in blocks:
        assert block in (["eager", "solution", "solution", "eager"], ["solution", "eager", "eager", "solution"])
    assert len({tuple(block) for block in blocks}) == 2  # which comes first is drawn


THREE_ARMS = TimingConfig(
    baselines=("compile", "eager"),
    warmup_turns=2,
    blocks=40,
    calls_per_turn=3,
    budget_s=100.0,
    control=False,
    precision=None,
)


def test_every_block_goes_through_all_arms_and_back() -> None:
    timing = measure(ScriptedArms(), THREE_ARMS, random.Random(1), 3, clock=ticking(0))
    orders = {tuple(turn.arm for turn in timing.turns if turn.block == block) for block in range(40)}
    assert all(order[3:] == order[2::-1] and set(order) == {"eager", "compile", "solution"} for order in orders)
    assert len(orders) == 6  # which way is drawn for each block


def test_the_headline_is_over_the_first_baseline_and_the_others_are_there() -> None:
    timing = measure(ScriptedArms(), THREE_ARMS, random.Random(1), 3, clock=ticking(0))
    assert timing.baselines == ("compile", "eager")
    assert timing.speedup is not None
    assert timing.speedup.estimate == pytest.approx(1.5)
    over_eager = timing.speedup_over("eager")
    assert over_eager is not None
    assert over_eager.estimate == pytest.approx(2.0)


def test_every_arm_warms_up_and_the_slowest_decides_the_calls() -> None:
    arms = ScriptedArms(compile_ns=100_000_000)
    measure(arms, THREE_ARMS, random.Random(1), 3, clock=ticking(0))
    assert arms.warm_after == 9
    assert sorted(arms.turns[:9]) == [("compile", 2)] * 3 + [("eager", 2)] * 3 + [("solution", 2)] * 3
    assert {count for _, count in arms.turns[9:]} == {1, 2}


def test_turns_are_kept_raw_and_in_order() -> None:
    timing = measure(ScriptedArms(), CONFIG, random.Random(1), 4, clock=ticking(0))
    assert timing.case == "large"
    assert [turn.block for turn in timing.turns] == [block for block in range(8) for _ in range(4)]
    assert {(t.arm, t.call_ns, t.wall_ns, t.tail_ns) for t in timing.turns} == {
        ("eager", (2_000,) * 4, 8_007, (5,) * 4),
        ("eager", (2_000,) * 2, 4_007, (5,) * 2),
        ("eager", (2_000,), 2_007, (5,)),
        ("solution", (1_000,) * 4, 4_007, (5,) * 4),
        ("solution", (1_000,) * 2, 2_007, (5,) * 2),
        ("solution", (1_000,), 1_007, (5,)),
    }


def test_the_turns_of_a_block_are_equally_long_and_those_of_others_are_not() -> None:
    timing = measure(ScriptedArms(), CONFIG, random.Random(1), 4, clock=ticking(0))
    lengths = [{len(turn.call_ns) for turn in timing.turns if turn.block == block} for block in range(8)]
    assert all(len(of_block) == 1 for of_block in lengths)
    assert sorted(length for of_block in lengths for length in of_block) == [1, 1, 2, 2, 4, 4, 4, 4]


def test_arms_warm_up_with_turns_that_are_not_kept() -> None:
    arms = ScriptedArms()
    measure(arms, CONFIG, random.Random(1), 4, clock=ticking(0))
    assert sorted(arms.turns[:8]) == [("eager", 2)] * 3 + [("eager", 4)] + [("solution", 2)] * 3 + [("solution", 4)]
    assert arms.warm_after == 8
    assert len(arms.turns) == 8 + 8 * 4


def test_of_two_long_calls_one_warms_up() -> None:
    arms = ScriptedArms(solution_ns=200_000_000)
    measure(arms, CONFIG, random.Random(1), 4, clock=ticking(0))
    assert sorted(arms.turns[: arms.warm_after]) == [("eager", 2)] * 3 + [("solution", 1)] * 2 + [("solution", 2)]


def test_arms_warm_up_until_their_times_settle() -> None:
    """The solution gets faster by a tenth with each turn, five times; eager never comes to rest."""
    arms = ScriptedArms(vary=lambda arm, turns: 0.9 ** min(turns, 5) if arm == "solution" else 1 + turns % 2)
    measure(arms, CONFIG, random.Random(1), 4, clock=ticking(0))
    warm_ups = arms.turns[: arms.warm_after]
    assert (warm_ups.count(("solution", 2)), warm_ups.count(("eager", 2))) == (6, 12)


def test_a_turn_after_which_conditions_change_is_no_rest() -> None:
    class Hurrying(ScriptedArms):
        def is_late(self, turn: Turn) -> bool:
            return len(self.turns) == 3

    arms = Hurrying()
    measure(arms, CONFIG, random.Random(1), 4, clock=ticking(0))
    assert arms.warm_after == 9


def test_the_control_is_one_of_the_arms_and_no_baseline() -> None:
    timing = measure(ScriptedArms(), replace(CONFIG, control=True), random.Random(1), 4, clock=ticking(0))
    assert timing.has_control
    assert timing.baselines == ("eager",)
    assert timing.block_ns("control") == (2_000,) * 8


def test_a_further_metric_has_blocks_of_its_own_without_the_control() -> None:
    arms = ScriptedArms()
    row = measure_row(arms, "gpu_warm", replace(CONFIG, control=True), random.Random(1), 4)
    assert row.metric == "gpu_warm"
    assert {turn.arm for turn in row.turns} == {"eager", "solution"}
    assert sorted({turn.block for turn in row.turns}) == [0, 1, 2, 3, 4, 5]
    assert arms.turns[:2] == [("eager", 1), ("solution", 1)]
    assert len(arms.turns) == 2 + 6 * 4


@pytest.mark.parametrize(("eager_ns", "calls"), [(2_000, 4), (7_000_000, 2), (12_000_000, 1)])
def test_turns_of_a_further_metric_are_half_as_long(eager_ns: int, calls: int) -> None:
    arms = ScriptedArms(eager_ns, 1_000)
    measure_row(arms, "gpu_warm", CONFIG, random.Random(1), 4)
    assert max(count for _, count in arms.turns) == calls


@pytest.mark.parametrize(("seconds", "blocks"), [(50, 8), (60, 7), (1e6, 6)])
def test_the_budget_ends_the_measurement_after_a_whole_block_but_not_before_the_sixth(
    seconds: float, blocks: int
) -> None:
    timing = measure(ScriptedArms(), CONFIG, random.Random(1), 4, clock=ticking(seconds))
    assert len(timing.block_ns("solution")) == blocks
    assert len(timing.turns) == 4 * blocks
    assert timing.speedup is not None
    assert timing.speedup.estimate == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("eager_ns", "solution_ns", "calls"),
    [(2_000, 1_000, 4), (100_000_000, 1_000, 2), (1_000, 240_000_000, 1), (900_000_000, 1_000, 1), (1, 1, 4)],
)
def test_slow_arms_take_fewer_calls_on_both_sides(eager_ns: int, solution_ns: int, calls: int) -> None:
    arms = ScriptedArms(eager_ns, solution_ns)
    measure(arms, CONFIG, random.Random(1), 4, clock=ticking(0))
    assert max(count for _, count in arms.turns[arms.warm_after :]) == calls


def test_progress_is_told_after_each_block() -> None:
    told: list[tuple[int, int]] = []
    measure(ScriptedArms(), CONFIG, random.Random(1), 4, lambda done, total: told.append((done, total)), ticking(60))
    assert told == [(1, 8), (2, 8), (3, 8), (4, 8), (5, 8), (6, 8), (7, 8)]


def test_what_a_player_raises_ends_the_measurement() -> None:
    class Failing(ScriptedArms):
        def turn(self, arm: ArmName, calls: int, metric: Metric | None = None) -> Turn:
            if len(self.turns) == 9:
                raise RuntimeError("crashed")
            return super().turn(arm, calls)

    with pytest.raises(RuntimeError, match="crashed"):
        measure(Failing(), CONFIG, random.Random(1), 4, clock=ticking(0))


def test_measuring_ends_when_it_is_precise_enough() -> None:
    steady = TimingConfig(blocks=50, precision=0.01, budget_s=100.0)
    assert len({turn.block for turn in measure(ScriptedArms(), steady, random.Random(1), 4).turns}) == 6


def test_whether_it_is_enough_is_asked_at_stages_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each block it would end where the interval is narrow by chance."""
    asked: list[int] = []
    monkeypatch.setattr(Series, "is_enough", lambda _, timing: asked.append(len(timing.block_ns("solution"))))
    config = TimingConfig(blocks=50, precision=0.01, budget_s=100.0)
    measure(ScriptedArms(), config, random.Random(1), 4, clock=ticking(0))
    assert asked == [6, 9, 14, 21, 32, 48]


@pytest.mark.parametrize(("most", "stages"), [(6, (6,)), (12, (6, 9, 14)), (100, (6, 9, 14, 21, 32, 48, 72, 108))])
def test_stages_lie_half_as_many_blocks_apart_as_there_are(most: int, stages: tuple[int, ...]) -> None:
    assert looks(most) == stages


def test_the_least_precision_that_may_be_asked_for_is_reached() -> None:
    """Above what workers differ by; the arms scatter by 0.5 %."""
    rng = random.Random(1)
    arms = ScriptedArms(2_000_000, 1_000_000, vary=lambda arm, turns: rng.gauss(1, 0.005))
    least = TimingConfig(blocks=100, precision=0.0038, budget_s=100.0)
    found = measure(arms, least, random.Random(1), 4, clock=ticking(0))
    assert found.speedup is not None
    assert found.speedup.half_width <= 0.0038
    assert 6 < len(found.block_ns("solution")) < 100


def test_measuring_goes_on_while_it_is_not() -> None:
    noise = random.Random(1)
    arms = ScriptedArms(vary=lambda arm, turns: noise.uniform(0.7, 1.3))
    config = TimingConfig(blocks=20, precision=0.01, budget_s=100.0)
    assert len({turn.block for turn in measure(arms, config, random.Random(1), 4).turns}) == 20


def test_calls_below_the_floor_are_not_measured_for_long() -> None:
    config = replace(CONFIG, blocks=50)
    floors = TimerOverhead(1_200.0, 3_000.0)
    short = measure(ScriptedArms(20_000, 8_000), config, random.Random(1), 4, clock=ticking(0), floors=floors)
    assert (len(short.block_ns("solution")), short.speedup) == (6, None)
    longer = measure(ScriptedArms(20_000, 10_000), config, random.Random(1), 4, clock=ticking(0), floors=floors)
    assert len(longer.block_ns("solution")) == 50
    assert longer.speedup is not None
