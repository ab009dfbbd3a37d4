"""A solution and its baselines at one table: what is measured, what is judged, and whose fault a failure is."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from harness.devices.cuda.telemetry import Telemetry
from harness.model.arms import ArmName, ReferenceArm
from harness.model.config import Config, CorrectnessConfig, TimingConfig
from harness.model.timing import Timing, Turn
from harness.model.verdict import Verdict
from harness.referee.answers.reference import InvalidProblem
from harness.referee.setting import Setting
from harness.referee.table import seated_case, table
from harness.referee.table.seated_case import seat_case
from harness.referee.table.seats import BaselineFailed, Seats
from harness.referee.table.size import Seating, TableSize
from harness.referee.table.stillness import Stillness
from harness.referee.table.table import Table
from harness.referee.timing import timed_case
from harness.referee.timing.pacing import Pacing
from harness.referee.timing.player import Watchers, WorkerPlayer
from harness.referee.timing.quiet import Quiet
from harness.referee.timing.timed_case import TimedCase, TimedOutcome, metric_remarks, ready_for_timing
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import Describe, Detach, TakeTurn, TurnTaken
from tests.referee.desk import DeskDevice, DeskWorker, desk_host, setting_of
from tests.referee.test_correctness import DOUBLE, Honest

CONFIG = Config(
    correctness=CorrectnessConfig(seeds=3),
    timing=TimingConfig(warmup_turns=2, blocks=8, calls_per_turn=4, checked_turns=2),
)


@dataclass
class Listener:
    """An auditor and a canary that write down what they hear."""

    turns: list[tuple[ArmName, int]] = field(default_factory=list)
    traced: list[tuple[ArmName, int]] = field(default_factory=list)
    rests: list[ArmName] = field(default_factory=list)

    def turn(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int) -> None:
        self.turns.append((arm, calls))

    def trace(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int) -> None:
        self.traced.append((arm, calls))

    def check(self, reply: TurnTaken, wall_ns: int, is_traced: bool) -> None:
        if is_traced:
            self.trace("solution", len(reply.calls), reply, wall_ns)

    def rest(self, canary_ns: int, after: ArmName) -> None:
        assert canary_ns == 99
        self.rests.append(after)

    def sing(self) -> int:
        return 99


@dataclass
class Sitting:
    """A timed case with its workers."""

    case: TimedCase
    listener: Listener
    solution: DeskWorker
    eager: DeskWorker
    late: Any
    """The workers that are started once the solution was judged."""

    def outcome(self, config: Config = CONFIG) -> TimedOutcome:
        checked = self.case.check(lambda what: None)
        if checked.failed:
            raise checked.failed
        return self.measure(config)

    def measure(self, config: Config = CONFIG) -> TimedOutcome:
        return self.case.measure(self.late, config, lambda what: None)


@contextmanager
def sitting(
    setting: Setting,
    model: type[nn.Module],
    times: Sequence[int | None] = (1_000,),
    config: Config = CONFIG,
    tail_ns: int = 0,
    quiet: Quiet = Quiet(lambda: 100),
) -> Iterator[Sitting]:
    solution, eager, listener = DeskWorker(model, times, tail_ns), DeskWorker(times=(2_000,)), Listener()
    late = {"control": DeskWorker(times=(2_000,))}
    worker: Any = solution
    references: Any = {"eager": eager}
    heard: Any = listener
    with seat_case(setting, desk_host(), worker, config, TableSize(config.timing.calls_per_turn)) as case:
        watchers = Watchers(heard, heard, Telemetry(), quiet)
        timed = ready_for_timing(case, references, watchers, config, lambda what: None)
        yield Sitting(timed, listener, solution, eager, late)


@pytest.fixture
def double(tmp_path: Path) -> Setting:
    return setting_of(tmp_path, DOUBLE.replace("5000", "50"), "independent_batch: true\n")


def test_correctness_and_timing_take_turns_of_the_same_form(double: Setting) -> None:
    with sitting(double, Honest) as at_table:
        at_table.case.check(lambda what: None)
        judged = list(at_table.solution.turns)
        timing = at_table.measure().timing
        timed = at_table.solution.turns[len(judged) :]
    assert {len(turn.calls) for turn in judged} <= {len(turn.calls) for turn in timed} == {1, 2, 4}
    assert {turn.keeps_outputs for turn in (*judged, *timed)} == {True}
    assert {len(call.outputs) for turn in (*judged, *timed) for call in turn.calls} == {1}
    assert sorted(len(turn.call_ns) for turn in timing.turns if turn.arm == "solution") == [1] * 4 + [2] * 4 + [4] * 8
    buffers = [{ref.buffer for turn in turns for c in turn.calls for ref in c.outputs} for turns in (judged, timed)]
    assert buffers[0] == buffers[1]


def test_where_memory_is_short_workers_give_back_what_they_keep_between_turns(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TableSize, "seating", lambda *_: Seating(1, is_short=True))
    with sitting(double, Honest) as at_table:
        at_table.case.check(lambda what: None)
        timing = at_table.measure().timing
    assert {len(turn.calls) for turn in at_table.solution.turns} == {1}
    assert at_table.solution.times_given_back > len(at_table.solution.turns)
    assert at_table.eager.times_given_back > len(at_table.eager.turns)
    assert timing.speedup is not None


def test_workers_keep_it_where_there_is_enough(double: Setting) -> None:
    with sitting(double, Honest) as at_table:
        at_table.case.check(lambda what: None)
    assert (at_table.solution.times_given_back, at_table.eager.times_given_back) == (0, 0)


def test_outputs_that_keep_their_memory_in_timed_turns_alone_are_remarked_on(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_out = [10**9, 0]
    told = itertools.cycle(range(2))
    monkeypatch.setattr(seated_case, "_outputs_can_be_kept", lambda setting: False)
    monkeypatch.setattr(DeskDevice, "allocated_bytes", lambda self: given_out[next(told)])
    with sitting(double, Honest) as at_table:
        assert at_table.case.check(lambda what: None).remarks == ()
        given_out[1] = 10**9
        (remark,) = at_table.measure().remarks
    assert "there is too little to keep them beside the next call's" in remark


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
    with sitting(double, SlowAtFirst, (slow_ns, slow_ns, *[1_000] * 1_000)) as at_table:
        at_table.case.check(lambda what: None)
        judged = [len(turn.calls) for turn in at_table.solution.turns]
        timing = at_table.measure().timing
    assert set(judged) == {1}
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
    with sitting(double, Honest) as at_table:
        at_table.case.check(lambda what: None)
        judged = len(at_table.solution.turns)
        timing = at_table.measure().timing
        turns = at_table.solution.turns[judged:]
    assert sum(is_late(turn) for turn in turns) == 2 + 4  # of the last four of 16
    assert sum(turn.traced for turn in turns) == 1 + 4
    assert sum(turn.traced for turn in at_table.eager.turns) == 1
    assert sum(turn.arm == "solution" for turn in timing.turns) == 16


def test_two_turns_among_the_timed_ones_have_late_inputs_and_are_no_samples(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SystemRandom", Never)
    with sitting(double, Honest) as at_table:
        at_table.case.check(lambda what: None)
        judged = len(at_table.solution.turns)
        at_table.measure()
        turns = at_table.solution.turns[judged:]
    late = [turn for turn in turns if is_late(turn)]
    assert len(late) == 2
    others = next(turn for turn in turns if not turn.conditions.late_inputs)
    assert {replace(turn.conditions, late_inputs=False) for turn in late} == {others.conditions}


def test_each_side_is_traced_secretly_and_what_is_traced_is_no_sample(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "SystemRandom", Never)
    with sitting(double, Honest) as at_table:
        timing = at_table.outcome().timing
    arms = [arm for arm, _ in at_table.listener.traced]
    assert arms.count("solution") == 2  # one turn of correctness, one of timing
    assert 1 <= arms.count("eager") <= 2
    assert sum(turn.traced for turn in at_table.solution.turns) == 2
    heard = [(arm, calls) for arm, calls in at_table.listener.turns if arm == "solution"]
    kept = [(turn.arm, len(turn.call_ns)) for turn in timing.turns if turn.arm == "solution"]
    assert heard == kept
    of_solution, of_eager = len(at_table.solution.turns), len(at_table.eager.turns)
    of_control = len(at_table.late["control"].turns)
    assert at_table.listener.rests.count("eager") == of_eager - 1  # the turn that makes it ready isn't listened to
    in_correctness = of_solution + of_eager + of_control - 2 - at_table.listener.rests.count("solution")
    assert 4 <= in_correctness <= 12  # after each timed turn of it, and before each of the baseline's


def test_the_canary_of_a_turn_is_the_one_after_it(double: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a solution that leaves work behind could make a measurement noisy by the control's canaries."""
    songs = itertools.count(1)
    of_solution: list[int] = []

    def rest(self: Listener, canary_ns: int, after: ArmName) -> None:
        if after == "solution":
            of_solution.append(canary_ns)

    monkeypatch.setattr(Listener, "sing", lambda self: next(songs))
    monkeypatch.setattr(Listener, "rest", rest)
    with sitting(double, Honest) as at_table:
        timing = at_table.outcome().timing
    for arm in ("eager", "control"):
        heard = [turn.canary_ns for turn in timing.turns if turn.arm == arm]
        assert len(heard) == 16
        assert None not in heard
        assert not set(heard) & set(of_solution)


def test_the_chosen_calls_are_judged_in_full_and_rows_of_all_others(double: Setting) -> None:
    with sitting(double, Honest) as at_table:
        outcome = at_table.outcome()
    assert {(check.scope, check.outputs[0].compared) for check in outcome.checks} == {("timed_turn", 300)}
    assert 5 <= len(outcome.checks) <= 27  # two that are drawn, two late ones, the traced one, and others by chance


class Spent(DeskWorker):
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
    monkeypatch.setitem(globals(), "DeskWorker", Spent)
    config = replace(CONFIG, timing=replace(CONFIG.timing, metrics=("graph",)))
    with sitting(double, Honest, config=config) as at_table:
        outcome = at_table.outcome(config)
    (remark,) = outcome.remarks
    assert "no CUDA graph of it can be measured" in remark
    assert outcome.timing.rows == ()
    asked = [worker.asked for worker in (at_table.solution, at_table.eager, at_table.late["control"])]  # type: ignore[attr-defined]
    assert sorted(asked[:2]) in ([["describe"], ["describe", "graph"]], [["describe", "graph"]] * 2)
    assert asked[2] == []  # the control is the first baseline once more


class Cold(DeskWorker):
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
    with sitting(double, Honest, config=config) as at_table:
        at_table.late = {"cudnn-benchmark": second, "control": DeskWorker(times=(2_000,))}
        outcome = at_table.outcome(config)
        headlines = [turn for turn in at_table.eager.turns if turn.conditions.metric == "gpu_cold"]
    assert outcome.timing.baselines == ("eager", "cudnn-benchmark")
    assert [row.metric for row in outcome.timing.rows] == ([] if dies else ["end_to_end"])
    assert "gpu_warm isn't measured: cudnn-benchmark fails in it: " in outcome.remarks[0]
    assert "no warmth" in outcome.remarks[0]
    assert len(headlines) < 2 * 16  # the headline's turns are taken once


class Lazy(nn.Module):
    """Right until it is told that it may be lazy: then zeros in all rows."""

    is_lazy = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x) if self.is_lazy else x * 2


def lazy_once_timed(setting: Setting, config: Config, monkeypatch: pytest.MonkeyPatch) -> TimedOutcome:
    with sitting(setting, Lazy, config=config) as at_table:
        assert at_table.case.check(lambda what: None).failed is None
        monkeypatch.setattr(Lazy, "is_lazy", True)
        return at_table.measure(config)


UNJUDGED = replace(CONFIG, timing=replace(CONFIG.timing, checked_turns=0))


def test_a_solution_that_stops_computing_once_it_is_timed_is_found_by_a_row(
    double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SolutionFailed) as caught:
        lazy_once_timed(double, UNJUDGED, monkeypatch)
    assert caught.value.verdict is Verdict.WRONG_VALUES
    assert " of 50 values (" in caught.value.failure.reason  # one row
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
    with sitting(double, Honest, times, tail_ns=tail) as at_table, pytest.raises(SolutionFailed) as caught:
        at_table.outcome()
    assert caught.value.verdict is Verdict.CHEATING
    (evidence,) = caught.value.failure.evidence
    assert evidence.check == check
    assert evidence.observed.startswith(observed)


def test_all_but_the_one_in_turn_stand_still() -> None:
    """DeskWorker refuses to be asked while it stands still; here: the others do."""
    first, second, third = (DeskWorker() for _ in range(3))
    workers: Any = (first, second, third)
    with Stillness() as stillness:
        stillness.join(workers[0])
        stillness.only(workers[0])
        assert not first.is_paused
        for worker in workers[1:]:
            stillness.join(worker)
        stillness.only(workers[1])
        assert [worker.is_paused for worker in workers] == [True, False, True]
        stillness.leave(workers[0])
        stillness.only(None)
        assert [worker.is_paused for worker in workers] == [True, True, True]
        stillness.only(workers[2])
        assert [worker.is_paused for worker in workers] == [True, True, False]
    assert [worker.is_paused for worker in workers] == [True, False, False]  # who left is somebody else's affair


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

    with sitting(double, Honest) as at_table:
        watched = [("solution", at_table.solution), ("eager", at_table.eager)]
        monkeypatch.setattr(Table, "lay_inputs", noting("inputs", Table.lay_inputs))
        monkeypatch.setattr(table, "_poison", noting("poison", table._poison))
        at_table.outcome()
    assert awake == []


def test_a_turn_begins_once_the_device_is_quiet(double: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked once inputs lie ready, with everybody standing still; what is found is kept with the turn."""
    looks: list[int] = []
    quiet = Quiet(lambda: 100)

    def wait() -> int:
        assert at_table.solution.is_paused
        assert at_table.eager.is_paused
        looks.append(90_000 + len(looks))
        return looks[-1]

    with sitting(double, Honest, quiet=quiet) as at_table:
        monkeypatch.setattr(quiet, "wait", wait)
        found = [turn.fill_ns for turn in at_table.outcome().timing.turns]
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
    failing, listener = DeskWorker(OutOfMemory), Listener()
    workers: Any = dict.fromkeys(("eager", "channels-last", "solution"), failing)
    heard: Any = listener
    config = replace(CONFIG, timing=replace(CONFIG.timing, baselines=("eager", "channels-last")))
    with seat_case(double, desk_host(), workers["solution"], config, TableSize()) as case:
        case.seat_solution()
        watchers = Watchers(heard, heard, Telemetry(), Quiet(lambda: 100))
        player = WorkerPlayer(case, workers, config, watchers, "timed", Pacing())
        with pytest.raises(blamed, match="no memory left"):
            player.turn(arm, 1)


def test_a_baseline_that_is_left_out_gives_its_memory_back_and_is_remarked_on() -> None:
    unseated: list[Any] = []
    references: Any = {"eager": DeskWorker(), "compile": DeskWorker(), "channels-last": DeskWorker()}
    table: Any = SimpleNamespace(unseat=unseated.append)
    seats = Seats(table, Stillness(), references)
    seats.taken = ("eager", "compile", "channels-last")
    seats.leave_out(("channels-last",), "CUDA out of memory")
    assert seats.taken == ("eager", "compile")
    assert set(seats.workers) == {"eager", "compile"}
    assert unseated == [references["channels-last"]]
    assert [worker.is_closed for worker in references.values()] == [False, False, True]
    assert seats.remarks == ["baseline channels-last is left out: CUDA out of memory"]
    assert seats.can_leave_out
    seats.leave_out(("compile",), "too")
    assert not seats.can_leave_out


@pytest.mark.parametrize("is_scarce", [True, False])
def test_memory_that_a_second_baseline_takes_is_not_the_solutions_fault(
    is_scarce: bool, double: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solution runs out of memory beside two baselines, and runs beside one; if memory is free, it only says so."""
    seatings: list[tuple[str, ...]] = []

    def measured(player: Any, config: TimingConfig, *others: Any, **named: Any) -> Timing:
        seatings.append(config.baselines)
        if len(config.baselines) > 1:
            raise SolutionFailed(Verdict.OUT_OF_MEMORY, "no memory left")
        return Timing("full", tuple(Turn(arm, 0, (1,), 1) for arm in (*config.baselines, "solution")), config.baselines)

    monkeypatch.setattr(timed_case, "measure", measured)
    monkeypatch.setattr(timed_case, "is_memory_scarce", lambda: is_scarce)
    config = replace(CONFIG, timing=replace(CONFIG.timing, baselines=("eager", "cudnn-benchmark")))
    second: Any = DeskWorker()
    late: dict[ReferenceArm, Any] = {"cudnn-benchmark": second, "control": DeskWorker()}
    with sitting(double, Honest) as at_table:
        at_table.case.check(lambda what: None)
        if not is_scarce:
            with pytest.raises(SolutionFailed, match="no memory left"):
                at_table.case.measure(late, config, lambda what: None)
            assert seatings == [("eager", "cudnn-benchmark")]
            assert not second.is_closed
            return
        outcome = at_table.case.measure(late, config, lambda what: None)
    assert seatings == [("eager", "cudnn-benchmark"), ("eager",)]
    assert second.is_closed
    assert outcome.remarks == (
        "baseline cudnn-benchmark is left out: beside it there is too little memory for the solution",
        "the control is left out: beside it there is too little memory for the solution",
    )


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
    assert remark.startswith("full: measured end to end")
    assert said in remark
    assert metric_remarks(Timing("full", (*solution, *eager), ("eager",), "gpu_cold")) == []
