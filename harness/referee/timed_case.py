"""Timing a solution against baselines: a worker for each at one table, taking turns."""

from __future__ import annotations

import dataclasses
import itertools
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from harness.protocol.messages import TurnTaken
from harness.records.check import Check
from harness.records.compiled import CompiledBaseline
from harness.records.config import Config
from harness.records.timing import ArmName, Baseline, Timing
from harness.records.verdict import Verdict
from harness.referee.audit import Auditor, Canary
from harness.referee.audit.claims import require_plausible
from harness.referee.correctness import CaseOutcome, Notify, check_seated
from harness.referee.draws import Drawn
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.repetition import judge_call, judge_row
from harness.referee.seated_case import SeatedCase, Taken, at, seeds_of
from harness.referee.seats import BaselineFailed, Seats
from harness.referee.shortage import is_memory_scarce
from harness.referee.timing import LEAST_BLOCKS, ArmTurn, affordable_calls, measure, warm_up
from harness.referee.turns import take_turn
from harness.referee.worker_process import WorkerProcess


@dataclass(frozen=True)
class TimedOutcome:
    """A timing, the timed turns that were judged, remarks on the baselines, and what compiling them took."""

    timing: Timing
    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    compiled: tuple[CompiledBaseline, ...] = ()


@dataclass(frozen=True)
class Watchers:
    """Who is told of every timed turn, and what is heard of the GPU after it."""

    auditor: Auditor
    canary: Canary


class TimedCase:
    """The case that is timed, with the first baseline ready; made by `ready_for_timing`.

    First the solution is judged, then measured: over the same table, as the same module, in turns of the same lengths.
    """

    def __init__(self, case: SeatedCase, seats: Seats, watchers: Watchers) -> None:
        self._case = case
        self._seats = seats
        self._watchers = watchers
        self._most_calls = case.table.places

    def warm_up(self, config: Config, notify: Notify) -> None:
        """How many calls a turn can have for the first baseline, before the solution has run over this table.

        Raises: InvalidProblem where the reference fails as the first baseline.
        """
        first = config.timing.baselines[0]
        self._seats.fill(self._case.setting, (first,), config, notify)
        self._most_calls = warm_up(self._player(config, "warm-up"), first, config.timing, self._most_calls)

    def check(self, notify: Notify) -> CaseOutcome:
        """The solution's first two calls say how many a turn can have; they are judged as well. (Two: the first may
        compile.)

        Raises: SolutionFailed where no comparison came about.
        """
        case = self._case
        checks: list[Check] = []
        times_ns: list[int] = []
        with at(case.setting.case, None):
            case.seat_solution()
            for number in range(2):
                taken = case.turn([Drawn(case.setting.seed("inputs", "first", number))])
                check, failed = judge_call(case, taken, 0, "complete")
                checks.append(check)
                times_ns += _claimed(taken.reply, taken.wall_ns).call_ns
                if failed:
                    return CaseOutcome(tuple(checks), tuple(case.remarks), case.weights, failed)
            self._most_calls = affordable_calls(min(times_ns), self._most_calls)
            outcome = check_seated(case, self._most_calls, notify, self._watch)
        return dataclasses.replace(outcome, checks=(*checks, *outcome.checks))

    def measure(self, references: Mapping[Baseline, WorkerProcess], config: Config, notify: Notify) -> TimedOutcome:
        """Measure the solution against the first baseline and `references`, and judge some of its timed calls.

        Another baseline than the first that can't run here (the compiler refuses, memory is short), or that takes the
        memory which the solution needs, is left out with a remark; then only the first stays beside it.

        Raises: SolutionFailed, InvalidProblem where the reference fails as the first baseline.
        """
        self._seats.admit(references)
        self._seats.fill(self._case.setting, config.timing.baselines[1:], config, notify)
        checks: list[Check] = []
        for attempt in itertools.count():  # one, unless a baseline has to be left out
            timed = dataclasses.replace(config, timing=dataclasses.replace(config.timing, baselines=self._seats.taken))
            player = self._player(timed, f"timed {attempt}")
            try:
                timing = measure(
                    player,
                    timed.timing,
                    self._case.rng,
                    self._most_calls,
                    lambda done, total: notify(f"timing {done}/{total}"),
                )
                break
            except BaselineFailed as error:
                self._seats.leave_out((error.baseline,), str(error))
            except (SolutionFailed, torch.OutOfMemoryError) as error:
                if not (self._seats.can_leave_out and _lacks_memory(error)):
                    raise
                others = self._seats.taken[1:]
                self._seats.leave_out(others, "beside it there is too little memory for the solution")
            finally:
                checks += player.checks
        compiled = self._seats.look_back(config.limits)
        return TimedOutcome(timing, tuple(checks), tuple(self._seats.remarks), compiled)

    def _player(self, config: Config, phase: str) -> WorkerPlayer:
        workers: dict[ArmName, WorkerProcess] = {**self._seats.workers, "solution": self._case.worker}
        return WorkerPlayer(self._case, workers, config, self._watchers, phase)

    def _watch(self, reply: TurnTaken, wall_ns: int) -> None:
        self._watchers.auditor.trace("solution", len(reply.calls), reply, wall_ns)


def ready_for_timing(
    case: SeatedCase, references: Mapping[Baseline, WorkerProcess], watchers: Watchers, config: Config, notify: Notify
) -> TimedCase:
    """Seat the first baseline, which has the GPU for itself until then. Raises: InvalidProblem."""
    timed = TimedCase(case, Seats(case.table, case.stillness, references), watchers)
    timed.warm_up(config, notify)
    return timed


_WITHOUT_ROWS = 0.5
"""So many of the timed turns have a call judged in full where no single row can be."""


class WorkerPlayer:
    """Takes turns with real workers: fresh inputs for each call, and a secret choice of the solution's calls judged."""

    def __init__(
        self,
        case: SeatedCase,
        workers: Mapping[ArmName, WorkerProcess],
        config: Config,
        watchers: Watchers,
        phase: str,
    ) -> None:
        """`phase` keeps the inputs of one measurement from being those of another."""
        self._case = case
        self._workers = workers
        self._config = config
        self._watchers = watchers
        self._count = dict.fromkeys(workers, 0)
        self._next_seed = {arm: seeds_of(case.setting, phase, arm) for arm in workers}
        certain = range(config.timing.warmup_turns, config.timing.warmup_turns + 2 * LEAST_BLOCKS)
        self._secret = secrets.SystemRandom()
        self._judged = set(self._secret.sample(certain, min(config.timing.checked_turns, len(certain))))
        self._judged_share = len(self._judged) / len(certain)
        if self._judged and not case.has_rows:
            self._judged_share = max(self._judged_share, _WITHOUT_ROWS)
        self._traced = {arm: self._secret.choice(certain) for arm in ("solution", config.timing.baselines[0])}
        self.checks: list[Check] = []

    def turn(self, arm: ArmName, calls: int) -> ArmTurn:
        """Raises: SolutionFailed, BaselineFailed, InvalidProblem where the first baseline fails."""
        number = self._count[arm]
        self._count[arm] += 1
        auditor = self._watchers.auditor
        if number == self._traced.get(arm):
            auditor.trace(arm, calls, *self._take(arm, calls, is_judged=True, traced=True))
        reply, wall_ns = self._take(arm, calls, is_judged=self._is_judged(number))
        claimed = _claimed(reply, wall_ns)
        if number >= self._config.timing.warmup_turns:  # first calls pay for more than what they do
            auditor.turn(arm, calls, reply, wall_ns)
        return claimed

    def _is_judged(self, number: int) -> bool:
        """Some for certain, of those that are always taken, and any other by the same chance."""
        return number in self._judged or self._secret.random() < self._judged_share

    def _take(self, arm: ArmName, calls: int, is_judged: bool, traced: bool = False) -> tuple[TurnTaken, int]:
        drawn = [Drawn(self._next_seed[arm]()) for _ in range(calls)]
        if arm != "solution":
            return self._take_baseline(arm, drawn, traced)
        taken = self._case.turn(drawn, traced=traced, keeps_row=not is_judged, at_rest=lambda: self._listen("solution"))
        self._judge(taken, is_judged)
        return taken.reply, taken.wall_ns

    def _take_baseline(self, arm: Baseline, drawn: list[Drawn], traced: bool) -> tuple[TurnTaken, int]:
        case, worker = self._case, self._workers[arm]
        places = case.lay(drawn)
        self._listen("solution")  # what it asked of the GPU before it was stopped may have waited until now
        case.stillness.only(worker)
        try:
            timed = take_turn(worker, case.table, self._config.limits, places, traced=traced)
        except SolutionFailed as error:
            if arm != self._config.timing.baselines[0]:
                raise BaselineFailed(arm, str(error)) from error
            raise InvalidProblem(f"the reference fails while it is timed ({arm}): {error}") from error
        case.stillness.only(None)
        self._listen(arm)
        return timed.reply, timed.wall_ns

    def _listen(self, after: ArmName) -> None:
        """With everybody at rest the GPU is idle, or somebody has left work on it."""
        if after in self._traced:
            self._watchers.auditor.rest(self._watchers.canary.sing(), after=after)

    def _judge(self, taken: Taken, is_complete: bool) -> None:
        """A random call in full, or else the row that was kept of one."""
        if is_complete:
            check, failed = judge_call(self._case, taken, self._case.rng.randrange(len(taken.drawn)), "timed_turn")
        elif taken.row is not None:
            check, failed = judge_row(self._case, taken, taken.row, "timed_turn")
        else:
            return
        if is_complete or failed:
            self.checks.append(check)
        if failed:
            raise failed


def _claimed(reply: TurnTaken, wall_ns: int) -> ArmTurn:
    """Raises: SolutionFailed where it can't be true, in turns that warm up as well."""
    call_ns = require_plausible([call.gpu_ns for call in reply.calls], len(reply.calls), wall_ns)
    tail_ns = tuple(call.tail_ns or 0 for call in reply.calls)
    if not all(0 <= tail <= wall_ns for tail in tail_ns):
        raise SolutionFailed.cheating(
            "tail", f"tails of {min(tail_ns)} to {max(tail_ns)} ns were reported in {wall_ns} ns"
        )
    return ArmTurn(call_ns, wall_ns, tail_ns)


def _lacks_memory(error: SolutionFailed | torch.OutOfMemoryError) -> bool:
    """A solution is believed only where the driver, too, says that memory is scarce: it would rather meet fewer
    baselines."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return error.verdict is Verdict.OUT_OF_MEMORY and is_memory_scarce()
