"""A solution and its baselines over the same buffers: what is measured and judged, and whose fault a failure is."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from harness.devices.cuda.telemetry import Telemetry
from harness.model.arms import ArmName, ReferenceArm
from harness.model.config import Config, CorrectnessConfig, TimingConfig
from harness.model.timing import Timing, Turn
from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.buffers import buffers as buffers_module
from harness.referee.buffers.buffers import Buffers, Freezer, open_buffers
from harness.referee.buffers.case_turns import CaseTurns
from harness.referee.buffers.slots import Capacity, Slots
from harness.referee.setting import Setting
from harness.referee.timing import timed_case
from harness.referee.timing.arms import Instruments, WorkerArms
from harness.referee.timing.launch_hold import LaunchHold
from harness.referee.timing.references import BaselineFailed
from harness.referee.timing.series import Series
from harness.referee.timing.settling import Settling
from harness.referee.timing.timed_case import TimedCase, TimedOutcome, metric_remarks
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import Describe, Detach, TakeTurn, TurnTaken
from tests.referee.in_process import InProcessDevice, InProcessWorker, in_process_host, setting_of
from tests.referee.test_correctness import DOUBLE, Honest
from tests.wording import tells

CONFIG = Config(
    correctness=CorrectnessConfig(seeds=3),
    timing=TimingConfig(warmup_turns=2, blocks=8, calls_per_turn=4, checked_turns=2, precision=None),
)


@dataclass
class Listener:
    """An auditor and a probe kernel that write down what they hear."""

    turns: list[tuple[ArmName, int]] = field(default_factory=list)
    traced: list[tuple[ArmName, int]] = field(default_factory=list)
    rests: list[ArmName] = field(default_factory=list)

    @property
    def kernels(self) -> dict[ArmName, int]:
        return {"eager": 3, "solution": 1} if self.traced else {}

    def turn(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int) -> None:
        self.turns.append((arm, calls))

    def trace(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int, by_host: bool = False) -> None:
        self.traced.append((arm, calls))

    def check(self, reply: TurnTaken, wall_ns: int, is_traced: bool) -> None:
        if is_traced:
            self.trace("solution", len(reply.calls), reply, wall_ns)

    def rest(self, canary_ns: int, after: ArmName) -> None:
        assert canary_ns == 99
        self.rests.append(after)

    def run_ns(self) -> int:
        return 99


@dataclass
class Timed:
    """A timed case with its workers."""

    case: TimedCase
    listener: Listener
    solution: InProcessWorker
    eager: InProcessWorker
    late: Any
    """The workers that are started once the solution was judged."""
    judged: Sequence[TakeTurn] = ()
    """The solution's turns in which it was."""

    def outcome(self) -> TimedOutcome:
        checked = self.case.check()
        if checked.failed:
            raise checked.failed
        return self.measure()

    def measure(self) -> TimedOutcome:
        self.judged = tuple(self.solution.turns)
        return self.case.measure(self.late)

    @property
    def timed(self) -> list[TakeTurn]:
        return self.solution.turns[len(self.judged) :]


@contextmanager
def opened_case(
    setting: Setting,
    model: type[nn.Module],
    times: Sequence[int | None] = (1_000,),
    config: Config = CONFIG,
    tail_ns: int = 0,
    settling: Settling = Settling(lambda: 100),
) -> Iterator[Timed]:
    solution, eager, listener = InProcessWorker(model, times, tail_ns), InProcessWorker(times=(2_000,)), Listener()
    late = {"control": InProcessWorker(times=(2_000,))}
    worker: Any = solution
    references: Any = {"eager": eager}
    heard: Any = listener
    with open_buffers(setting, in_process_host(), Capacity(config.timing.calls_per_turn)) as buffers:
        instruments = Instruments(LaunchHold(), heard, heard, Telemetry(), settling)
        case = CaseTurns(setting, buffers, worker, config, instruments)
        timed_case = TimedCase(case, references, instruments, Series(config.timing), lambda what: None)
        timed_case.warm_up()
        yield Timed(timed_case, listener, solution, eager, late)


@pytest.fixture
def double(tmp_path: Path) -> Setting:
    return setting_of(tmp_path, DOUBLE.replace("5000", "50"), "independent_batch: true\n")


def test_correctness_and_timing_take_turns_of_the_same_form(double: Setting) -> None:
    with opened_case(double, Honest) as opened:
        timing = opened.outcome().timing
    judged, timed = opened.judged, opened.timed
    assert {len(turn.calls) for turn in judged} <= {len(turn.calls) for turn in timed} == {1, 2, 4}
    assert {turn.keeps_outputs for turn in (*judged, *timed)} == {True}
    assert {len(call.outputs) for turn in (*judged, *timed) for call in turn.calls} == {1}
    assert sorted(len(turn.call_ns) for turn in timing.turns if turn.arm == "solution") == [1] * 4 + [2] * 4 + [4] * 8
    buffers = [{ref.buffer for turn in turns for c in turn.calls for ref in c.outputs} for turns in (judged, timed)]
    assert buffers[0] == buffers[1]


def test_where_memory_is_short_workers_give_back_what_they_keep_between_turns(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Capacity, "slots", lambda *_: Slots(1, is_short=True))
    with opened_case(double, Honest) as opened:
        timing = opened.outcome().timing
    assert {len(turn.calls) for turn in opened.solution.turns} == {1}
    assert opened.solution.times_given_back > len(opened.solution.turns)
    assert opened.eager.times_given_back > len(opened.eager.turns)
    assert timing.speedup is not None


def test_workers_keep_it_where_there_is_enough(double: Setting) -> None:
    with opened_case(double, Honest) as opened:
        opened.case.check()
        assert (opened.solution.times_given_back, opened.eager.times_given_back) == (0, 0)


def test_outputs_that_keep_their_memory_in_timed_turns_alone_are_remarked_on(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_out = [10**9, 0]
    told = itertools.cycle(range(2))
    monkeypatch.setattr(buffers_module, "can_keep_outputs", lambda setting: False)
    monkeypatch.setattr(InProcessDevice, "allocated_bytes", lambda self: given_out[next(told)])
    with opened_case(double, Honest) as opened:
        assert opened.case.check().remarks == []
        given_out[1] = 10**9
        (remark,) = opened.measure().remarks
    assert "too little" in remark


class SlowAtFirst(Honest):
    calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls <= 2:
            time.sleep(0.26)
        return super().forward(x)


def test_two_slow_calls_at_first_make_no_short_turns(double: Setting) -> None:
    """Who sleeps in them would have turns of one call, over which the wall clock has no slope."""
    slow_ns = 255_000_000
    with opened_case(double, SlowAtFirst, (slow_ns, slow_ns, *[1_000] * 1_000)) as opened:
        timing = opened.outcome().timing
    assert {len(turn.calls) for turn in opened.judged} == {1}
    assert {len(turn.call_ns) for turn in timing.turns} == {1, 2, 4}


class Never(secrets.SystemRandom):
    """By chance nothing happens."""

    def random(self) -> float:
        return 0.999


class Always(secrets.SystemRandom):
    """By chance everything happens."""

    def random(self) -> float:
        return 0.0


def is_late(turn: TakeTurn) -> bool:
    """Of the headline's turns."""
    return turn.conditions.late_inputs and turn.conditions.metric == "gpu_cold"


def test_any_later_turn_may_come_late_or_be_traced_and_neither_is_a_sample(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SystemRandom", Always)
    with opened_case(double, Honest) as opened:
        timing = opened.outcome().timing
    turns = opened.timed
    assert sum(is_late(turn) for turn in turns) == 2 + 4  # of the last four of 16
    assert sum(len(turn.calls) for turn in turns if turn.traced) >= 3 * (1 + 4)
    assert sum(len(turn.calls) for turn in opened.eager.turns if turn.traced) >= 3
    assert sum(turn.arm == "solution" for turn in timing.turns) == 16


def test_two_turns_among_the_timed_ones_have_late_inputs_and_are_no_samples(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SystemRandom", Never)
    with opened_case(double, Honest) as opened:
        opened.outcome()
    late = [turn for turn in opened.timed if is_late(turn)]
    assert len(late) == 2
    others = next(turn for turn in opened.timed if not turn.conditions.late_inputs)
    assert {replace(turn.conditions, late_inputs=False) for turn in late} == {others.conditions}


def test_each_side_is_traced_secretly_and_what_is_traced_is_no_sample(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SystemRandom", Never)
    with opened_case(double, Honest) as opened:
        timing = opened.outcome().timing
    arms = [arm for arm, _ in opened.listener.traced]
    assert 3 <= arms.count("solution") <= 4  # one turn of correctness, and of timing as many as three calls take
    assert ("solution", 1) in opened.listener.traced[1:]  # a call that no other can help
    assert 1 <= arms.count("eager") <= 4
    traced = sum(turn.traced for turn in opened.solution.turns)
    assert traced == arms.count("solution")
    heard = [(arm, calls) for arm, calls in opened.listener.turns if arm == "solution"]
    kept = [(turn.arm, len(turn.call_ns)) for turn in timing.turns if turn.arm == "solution"]
    assert heard == kept
    assert timing.kernels == {"eager": 3, "solution": 1}
    assert (timing.kernels_of("control"), timing.kernels_of("solution")) == (3, 1)
    of_solution, of_eager = len(opened.solution.turns), len(opened.eager.turns)
    of_control = len(opened.late["control"].turns)
    assert opened.listener.rests.count("eager") == of_eager - 1  # the turn that makes it ready isn't listened to
    in_correctness = of_solution + of_eager + of_control - traced - opened.listener.rests.count("solution")
    assert 4 <= in_correctness <= 16  # after each timed turn of it, and before each of the baseline's


def test_the_canary_of_a_turn_is_the_one_after_it(double: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a solution that leaves work behind could make a measurement noisy by the control's canaries."""
    songs = itertools.count(1)
    of_solution: list[int] = []

    def rest(self: Listener, canary_ns: int, after: ArmName) -> None:
        if after == "solution":
            of_solution.append(canary_ns)

    monkeypatch.setattr(Listener, "run_ns", lambda self: next(songs))
    monkeypatch.setattr(Listener, "rest", rest)
    with opened_case(double, Honest) as opened:
        timing = opened.outcome().timing
    for arm in ("eager", "control"):
        heard = [turn.canary_ns for turn in timing.turns if turn.arm == arm]
        assert len(heard) == 16
        assert None not in heard
        assert not set(heard) & set(of_solution)


def test_the_chosen_calls_are_judged_in_full_and_rows_of_all_others(double: Setting) -> None:
    with opened_case(double, Honest) as opened:
        outcome = opened.outcome()
    assert {(check.scope, check.outputs[0].compared) for check in outcome.checks} == {("timed_turn", 300)}
    assert 6 <= len(outcome.checks) <= 29  # two that are drawn, two late ones, traced ones, and others by chance


def test_every_traced_turn_is_judged(double: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """What works there is the measure: whoever knows a trace could leave out the work of a call that nobody sees."""
    monkeypatch.setattr(secrets, "SystemRandom", Never)
    with opened_case(double, Honest) as opened:
        outcome = opened.outcome()
    drawn, late = 2, 2
    assert len(outcome.checks) == drawn + late + sum(turn.traced for turn in opened.timed)


class Spent(InProcessWorker):
    """Can't be captured as a graph, and answers nothing afterwards, not even when it is to give its buffers back."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.asked: list[str] = []
        self.is_spent = False

    def _answer(self, request: Any, descriptors: Sequence[int]) -> Any:
        if isinstance(request, Describe):
            self.asked.append("describe")
        if isinstance(request, TakeTurn) and request.conditions.metric == "graph":
            self.asked.append("graph")
            self.is_spent = True
        if self.is_spent and isinstance(request, (TakeTurn, Describe, Detach)):
            raise RuntimeError("operation not permitted when stream is capturing")
        return super()._answer(request, descriptors)


def test_workers_are_asked_what_they_changed_before_a_graph_can_harm_them(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "InProcessWorker", Spent)
    config = replace(CONFIG, timing=replace(CONFIG.timing, metrics=("graph",)))
    with opened_case(double, Honest, config=config) as opened:
        outcome = opened.outcome()
    (remark,) = outcome.remarks
    assert "no CUDA graph" in remark
    assert outcome.timing.rows == ()
    asked = [worker.asked for worker in (opened.solution, opened.eager, opened.late["control"])]  # type: ignore[attr-defined]
    assert sorted(asked[:2]) in ([["describe"], ["describe", "graph"]], [["describe", "graph"]] * 2)
    assert asked[2] == []  # the control is the first baseline once more


class Cold(InProcessWorker):
    """Fails where caches are warm, and answers nothing afterwards if it `dies` of it."""

    dies = False

    def _answer(self, request: Any, descriptors: Sequence[int]) -> Any:
        if isinstance(request, TakeTurn) and request.conditions.metric == "gpu_warm":
            self.is_spent = self.dies
            raise RuntimeError("no warmth")
        if getattr(self, "is_spent", False):
            raise RuntimeError("gone")
        return super()._answer(request, descriptors)


@pytest.mark.parametrize("dies", [False, True])
def test_a_baseline_that_fails_in_a_further_metric_costs_that_row_alone(dies: bool, double: Setting) -> None:
    timing = replace(CONFIG.timing, baselines=("eager", "cudnn-benchmark"), metrics=("gpu_warm", "end_to_end"))
    config = replace(CONFIG, timing=timing)
    second: Any = Cold(times=(3_000,))
    second.dies = dies
    with opened_case(double, Honest, config=config) as opened:
        opened.late = {"cudnn-benchmark": second, "control": InProcessWorker(times=(2_000,))}
        outcome = opened.outcome()
        headlines = [turn for turn in opened.eager.turns if turn.conditions.metric == "gpu_cold"]
    assert outcome.timing.baselines == ("eager", "cudnn-benchmark")
    assert [row.metric for row in outcome.timing.rows] == ([] if dies else ["end_to_end"])
    assert tells(outcome.remarks[0], "gpu_warm", "cudnn-benchmark fails")
    assert "no warmth" in outcome.remarks[0]
    assert len(headlines) < 2 * 16  # the headline's turns are taken once


class Doubling(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mul_(2)


def test_calls_that_change_their_inputs_are_made_once(tmp_path: Path) -> None:
    setting = setting_of(tmp_path, DOUBLE.replace("5000", "50").replace("x * 2", "x.mul_(2)"))
    config = replace(CONFIG, timing=replace(CONFIG.timing, metrics=("gpu_warm", "end_to_end", "graph")))
    with opened_case(setting, Doubling, config=config) as opened:
        outcome = opened.outcome()
    assert [row.metric for row in outcome.timing.rows] == ["end_to_end"]
    assert [tells(remark, "gpu_warm") or tells(remark, "graph") for remark in outcome.remarks].count(True) == 2


@pytest.mark.parametrize("backward", [False, True])
def test_the_parts_of_a_training_step_are_measured_in_rows_of_their_own(
    backward: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(InProcessDevice, "end_forward", lambda self: ended.append("forward"))
    setting = setting_of(tmp_path, DOUBLE.replace("5000", "50"), "backward: true\n" if backward else "")
    config = replace(CONFIG, timing=replace(CONFIG.timing, metrics=("end_to_end",)))
    with opened_case(setting, Honest, config=config) as opened:
        opened.late = {"control": InProcessWorker(times=(2_000,))}
        outcome = opened.outcome()
        asked = {turn.conditions.metric for turn in opened.solution.turns}
    parts = ["forward", "backward"] if backward else []
    assert [row.metric for row in outcome.timing.rows] == ["end_to_end", *parts]
    assert asked == {"gpu_cold", "end_to_end", *parts}
    assert bool(ended) is backward


class Lazy(nn.Module):
    """Right until it is told that it may be lazy: then zeros in all rows."""

    is_lazy = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x) if self.is_lazy else x * 2


def lazy_once_timed(setting: Setting, config: Config, monkeypatch: pytest.MonkeyPatch) -> TimedOutcome:
    with opened_case(setting, Lazy, config=config) as opened:
        assert opened.case.check().failed is None
        monkeypatch.setattr(Lazy, "is_lazy", True)
        return opened.measure()


UNJUDGED = replace(CONFIG, timing=replace(CONFIG.timing, checked_turns=0))


def test_a_solution_that_stops_computing_once_it_is_timed_is_found_by_a_row(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SolutionFailed) as caught:
        lazy_once_timed(double, UNJUDGED, monkeypatch)
    assert caught.value.verdict is Verdict.WRONG_VALUES
    assert "300 of 300 values" in caught.value.failure.reason  # the whole call confirms what a row told
    assert caught.value.failure.case == "full"
    assert caught.value.failure.seed is not None


@pytest.mark.parametrize("config", [CONFIG, UNJUDGED], ids=["chosen calls", "the traced turn alone"])
def test_without_independent_rows_whole_calls_are_judged(
    tmp_path: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = setting_of(tmp_path, DOUBLE.replace("5000", "50"))
    with pytest.raises(SolutionFailed, match=" of 300 values "):
        lazy_once_timed(setting, config, monkeypatch)


@pytest.mark.parametrize(
    ("times", "tail", "check", "observed"),
    [
        ((None,), 0, "claimed_times", "0 times were reported for 1 timed calls"),
        ((0,), 0, "claimed_times", "a call of 0 ns was reported"),
        ((-5,), 0, "claimed_times", "a call of -5 ns was reported"),
        ((2**70,), 0, "claimed_times", "1 calls are claimed to have taken 1180591620717411303424 ns"),
        ((1_000,), -1, "tail", "tails of -1 to -1 ns were reported"),
        ((1_000,), 2**70, "tail", "tails of 1180591620717411303424 to 1180591620717411303424 ns were reported"),
    ],
)
def test_claims_that_cannot_be_true_are_a_deception_from_the_first_call_on(
    double: Setting, times: tuple[int | None], tail: int, check: str, observed: str
) -> None:
    with opened_case(double, Honest, times, tail_ns=tail) as opened, pytest.raises(SolutionFailed) as caught:
        opened.outcome()
    assert caught.value.verdict is Verdict.CHEATING
    (evidence,) = caught.value.failure.evidence
    assert evidence.check == check
    assert evidence.observed.startswith(observed)


def test_all_but_the_one_in_turn_stand_still() -> None:
    """InProcessWorker refuses to be asked while it is frozen; here: the others do."""
    first, second, third = (InProcessWorker() for _ in range(3))
    workers: Any = (first, second, third)
    freezer = Freezer()
    freezer.add(workers[0])
    freezer.thaw_only(workers[0])
    assert not first.is_paused
    for worker in workers[1:]:
        freezer.add(worker)
    freezer.thaw_only(workers[1])
    assert [worker.is_paused for worker in workers] == [True, False, True]
    freezer.remove(workers[0])
    freezer.freeze()
    assert [worker.is_paused for worker in workers] == [True, True, True]
    freezer.thaw_only(workers[2])
    assert [worker.is_paused for worker in workers] == [True, True, False]
    freezer.thaw()
    assert [worker.is_paused for worker in workers] == [True, False, False]  # the removed one is somebody else's affair


def test_nobody_is_awake_while_inputs_are_laid_and_outputs_poisoned(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is has the inputs for as long as that takes, before any clock runs."""
    awake: list[str] = []

    def noting(what: str, original: Any) -> Any:
        def call(*arguments: Any) -> Any:
            awake.extend(f"{name} at {what}" for name, worker in watched if not worker.is_paused)
            return original(*arguments)

        return call

    with opened_case(double, Honest) as opened:
        watched = [("solution", opened.solution), ("eager", opened.eager)]
        monkeypatch.setattr(Buffers, "lay_inputs", noting("inputs", Buffers.lay_inputs))
        monkeypatch.setattr(buffers_module, "_poison", noting("poison", buffers_module._poison))
        opened.outcome()
    assert awake == []


def test_a_turn_begins_once_freed_memory_is_cleared(double: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked once inputs lie ready, with everybody standing still; what is found is kept with the turn."""
    looks: list[int] = []
    settling = Settling(lambda: 100)

    def wait() -> int:
        assert opened.solution.is_paused
        assert opened.eager.is_paused
        looks.append(90_000 + len(looks))
        return looks[-1]

    with opened_case(double, Honest, settling=settling) as opened:
        monkeypatch.setattr(settling, "wait", wait)
        found = [turn.fill_ns for turn in opened.outcome().timing.turns]
    assert len(set(found)) == len(found)
    assert set(found) < set(looks)


class OutOfMemory(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise torch.OutOfMemoryError("no memory left")


@pytest.mark.parametrize(
    ("arm", "blamed"),
    [("solution", SolutionFailed), ("eager", InvalidProblem), ("channels-last", BaselineFailed)],
)
def test_failure_in_a_timed_turn_is_blamed_on_its_arm(arm: ArmName, blamed: type[Exception], double: Setting) -> None:
    failing, listener = InProcessWorker(OutOfMemory), Listener()
    worker: Any = failing
    references: dict[ReferenceArm, Any] = dict.fromkeys(("eager", "channels-last"), failing)
    heard: Any = listener
    instruments = Instruments(LaunchHold(), heard, heard, Telemetry(), Settling(lambda: 100))
    with open_buffers(double, in_process_host(), Capacity()) as buffers:
        case = CaseTurns(double, buffers, worker, CONFIG, instruments)
        case.construct()
        arms = WorkerArms(case, references, instruments, "timed")
        with pytest.raises(blamed, match="no memory left"):
            arms.turn(arm, 1)


@pytest.mark.parametrize("is_scarce", [True, False])
def test_memory_that_a_second_baseline_takes_is_not_the_solutions_fault(
    is_scarce: bool, double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solution runs out of memory beside two baselines, and runs beside one; if memory is free, it only says so."""
    tried: list[tuple[str, ...]] = []

    def measured(arms: Any, config: TimingConfig, *others: Any, **named: Any) -> Timing:
        tried.append(config.baselines)
        if len(config.baselines) > 1:
            raise SolutionFailed(Verdict.OUT_OF_MEMORY, "no memory left")
        return Timing("full", tuple(Turn(arm, 0, (1,), 1) for arm in (*config.baselines, "solution")), config.baselines)

    monkeypatch.setattr(timed_case, "measure", measured)
    monkeypatch.setattr(timed_case, "is_memory_scarce", lambda: is_scarce)
    config = replace(CONFIG, timing=replace(CONFIG.timing, baselines=("eager", "cudnn-benchmark")))
    second: Any = InProcessWorker()
    with opened_case(double, Honest, config=config) as opened:
        opened.late = {"cudnn-benchmark": second, "control": InProcessWorker()}
        opened.case.check()
        if not is_scarce:
            with pytest.raises(SolutionFailed, match="no memory left"):
                opened.measure()
            assert tried == [("eager", "cudnn-benchmark")]
            assert not second.is_closed
            return
        outcome = opened.measure()
    assert tried == [("eager", "cudnn-benchmark"), ("eager",)]
    assert second.is_closed
    further, control = outcome.remarks
    assert tells(further, "cudnn-benchmark", "left out", "memory")
    assert tells(control, "control", "left out", "memory")


@pytest.mark.parametrize(
    ("launch_ns", "said"),
    [
        ((48_000, 47_000, 9_000), "an arm waits for the device before it returns, or launches for as long as"),
        ((9_000, 48_000, 8_000), "in measured turns no arm waits for the device"),
        ((), "an arm waits for the device before it returns, or launches for as long as"),
    ],
)
def test_who_waits_only_while_arms_warm_up_is_remarked_on(launch_ns: tuple[int, ...], said: str) -> None:
    """A call that was held up now and then is no evidence of waiting."""
    solution = [Turn("solution", block, (50_000,) * 3, 900_000, (), launch_ns) for block in range(6)]
    eager = [Turn("eager", block, (90_000,), 900_000, (), (60_000,)) for block in range(6)]
    (remark,) = metric_remarks(Timing("full", (*solution, *eager), ("eager",), "end_to_end"))
    assert tells(remark, "full:", "end to end")
    assert said in remark
    assert metric_remarks(Timing("full", (*solution, *eager), ("eager",), "gpu_cold")) == []
