"""An arm's turns with real workers: fresh inputs for each call, conditions that hold for all, everybody who watches."""

from __future__ import annotations

import dataclasses
import functools
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from harness.devices import Telemetry
from harness.model.arms import ArmName, Metric, ReferenceArm
from harness.model.check import Check
from harness.model.config import Config
from harness.model.timing import GpuState, PeakMemory
from harness.referee.answers.reference import InvalidProblem
from harness.referee.audit import Auditor, Canary
from harness.referee.audit.claims import require_plausible
from harness.referee.inputs.draws import Drawn
from harness.referee.repetition import judge_call, judge_row
from harness.referee.table.seated_case import SeatedCase, Taken, seeds_of
from harness.referee.table.seats import BaselineFailed
from harness.referee.table.turns import take_turn
from harness.referee.timing.pacing import Pacing
from harness.referee.timing.quiet import Quiet
from harness.referee.timing.timing import LEAST_BLOCKS, ArmTurn
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.messages import TurnTaken

_WITHOUT_ROWS = 0.5
"""So many of the timed turns have a call judged in full where no single row can be."""

_CERTAIN = range(2 * LEAST_BLOCKS)
"""The numbers of an arm's turns that are always taken."""
_LATE_TURNS, _TRACED_TURNS = 2, 1
"""Of the solution, among those. A later turn is late or traced by the chance of so many in as many turns as there were:
it always may be, and yet there are few of them, each of which costs a turn more and is judged in full. Of 24 turns 3.4
late ones and 1.7 traced ones are expected, of 400 nine and 4.5."""


@dataclass(frozen=True)
class Watchers:
    """Who is told of every timed turn, and what is seen of the GPU meanwhile and heard of it afterwards."""

    auditor: Auditor
    canary: Canary
    telemetry: Telemetry
    quiet: Quiet


class WorkerPlayer:
    """Takes turns with real workers: fresh inputs for each call, and a secret choice of the solution's calls judged."""

    def __init__(
        self,
        case: SeatedCase,
        workers: Mapping[ArmName, WorkerProcess],
        config: Config,
        watchers: Watchers,
        phase: str,
        pacing: Pacing,
    ) -> None:
        """`phase` keeps the inputs of one measurement from being those of another."""
        self._case = case
        self.workers = workers
        self._config = config
        self._watchers = watchers
        self._pacing = pacing
        self._is_warm = False
        self._count = dict.fromkeys(workers, 0)
        self._next_seed = {arm: seeds_of(case.setting, phase, arm) for arm in workers}
        self._secret = secrets.SystemRandom()
        self._judged = set(self._secret.sample(_CERTAIN, min(config.timing.checked_turns, len(_CERTAIN))))
        self._judged_share = len(self._judged) / len(_CERTAIN)
        if self._judged and not case.has_rows:
            self._judged_share = max(self._judged_share, _WITHOUT_ROWS)
        self._late = set(self._secret.sample(_CERTAIN, _LATE_TURNS))
        self._traced = {arm: self._secret.choice(_CERTAIN) for arm in ("solution", config.timing.baselines[0])}
        self._canary_ns: int | None = None
        self._gpu: GpuState | None = None
        case.watching = functools.partial(self._watch, "solution")
        case.settled = self._settle
        self._fill_ns: int | None = None
        self._peak_bytes: dict[ArmName, int] = {}
        self._process_bytes: dict[ArmName, int] = {}
        self._is_headline = True
        self.checks: list[Check] = []

    @property
    def metric(self) -> Metric:
        return self._pacing.metric

    def warmed_up(self) -> None:
        """What comes is measured, audited and traced."""
        self._pacing.settle()
        self._is_warm = True

    @property
    def memory(self) -> tuple[PeakMemory, ...]:
        """Of the arms whose workers tell it."""
        return tuple(PeakMemory(arm, peak, self._process_bytes.get(arm)) for arm, peak in self._peak_bytes.items())

    @contextmanager
    def _watch(self, arm: ArmName) -> Iterator[None]:
        own_pids = [worker.pid for worker in self.workers.values()]
        with self._watchers.telemetry.watch(own_pids, self.workers[arm].pid) as watch:
            yield
        self._gpu = watch.state()
        if self._is_headline and watch.process_bytes is not None:
            self._process_bytes[arm] = max(self._process_bytes.get(arm, 0), watch.process_bytes)

    def _settle(self) -> None:
        self._fill_ns = self._watchers.quiet.wait()

    def turn(self, arm: ArmName, calls: int, metric: Metric | None = None) -> ArmTurn:
        """Raises: SolutionFailed, BaselineFailed, InvalidProblem where the first baseline fails."""
        if metric is not None or not self._is_warm:
            return self._noted(arm, *self._take(arm, calls, self._is_judged(None), metric=metric))
        number = self._count[arm]
        self._count[arm] += 1
        auditor = self._watchers.auditor
        if arm == "solution" and (number in self._late or self._is_drawn(number, _LATE_TURNS)):
            self._take_late(calls)
        if number == self._traced.get(arm) or (arm == "solution" and self._is_drawn(number, _TRACED_TURNS)):
            auditor.trace(arm, calls, *self._take(arm, calls, is_judged=True, traced=True))
        reply, wall_ns = self._take(arm, calls, is_judged=self._is_judged(number))
        claimed = self._noted(arm, reply, wall_ns)
        auditor.turn(arm, calls, reply, wall_ns)
        return claimed

    def _is_judged(self, number: int | None) -> bool:
        """Some for certain, of those that are always taken, and any other by the same chance."""
        return number in self._judged or self._secret.random() < self._judged_share

    def _is_drawn(self, number: int, certain: int) -> bool:
        """Of later turns, where `certain` are drawn of those that are always taken."""
        return number >= len(_CERTAIN) and self._secret.random() * number < certain

    def _noted(self, arm: ArmName, reply: TurnTaken, wall_ns: int) -> ArmTurn:
        if self._is_headline and reply.peak_bytes is not None:
            self._peak_bytes[arm] = max(self._peak_bytes.get(arm, 0), reply.peak_bytes)
        are_late = self._pacing.note(arm, reply.calls)
        claimed = claimed_turn(reply, wall_ns)
        return dataclasses.replace(
            claimed, canary_ns=self._canary_ns, gpu=self._gpu, fill_ns=self._fill_ns, is_valid=not are_late
        )

    def _take(
        self, arm: ArmName, calls: int, is_judged: bool, traced: bool = False, metric: Metric | None = None
    ) -> tuple[TurnTaken, int]:
        drawn = [Drawn(self._next_seed[arm]()) for _ in range(calls)]
        self._canary_ns = None
        self._is_headline = metric is None
        if arm != "solution":
            return self._take_reference(arm, drawn, traced, metric)
        taken = self._case.turn(
            drawn,
            traced=traced,
            keeps_row=not is_judged,
            at_rest=lambda: self._listen("solution"),
            conditions=self._case.conditions(metric),
        )
        self._judge(taken, is_judged)
        return taken.reply, taken.wall_ns

    def _take_late(self, calls: int) -> None:
        """A turn of the same form as a timed one, judged whole, and no sample: its inputs come late. Only who looks
        into our part of the worker's process can tell them apart."""
        drawn = [Drawn(self._next_seed["solution"]()) for _ in range(calls)]
        self._judge(self._case.turn(drawn, conditions=self._case.late()), is_complete=True)

    def _take_reference(
        self, arm: ReferenceArm, drawn: list[Drawn], traced: bool, metric: Metric | None
    ) -> tuple[TurnTaken, int]:
        case, worker = self._case, self.workers[arm]
        laid = case.lay(drawn)
        self._listen("solution")  # what it asked of the GPU before it was stopped may have waited until now
        self._canary_ns = None  # a turn's canary is the one after it: the solution has no say in the baseline's
        conditions = case.conditions(metric)
        case.settled()
        try:
            with self._watch(arm):
                timed = take_turn(
                    worker,
                    case.table,
                    self._config.limits,
                    laid.places,
                    conditions=conditions,
                    traced=traced,
                    keeps_outputs=case.keeps_outputs,  # as of the solution: other addresses make other times
                    wake=lambda: case.stillness.only(worker),
                )
                case.stillness.only(None)
        except SolutionFailed as error:
            if arm != self._config.timing.baselines[0]:
                raise BaselineFailed(arm, str(error)) from error
            raise InvalidProblem(f"the reference fails while it is timed ({arm}): {error}") from error
        self._listen(arm)
        return timed.reply, timed.wall_ns

    def _listen(self, after: ArmName) -> None:
        """With everybody at rest the GPU is idle, or somebody has left work on it."""
        if after != "control" and after not in self._traced:
            return
        self._canary_ns = self._watchers.canary.sing()
        if after in self._traced:
            self._watchers.auditor.rest(self._canary_ns, after=after)

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


def claimed_turn(reply: TurnTaken, wall_ns: int) -> ArmTurn:
    """Raises: SolutionFailed where it can't be true, in turns that warm up as well."""
    call_ns = require_plausible([call.gpu_ns for call in reply.calls], len(reply.calls), wall_ns)
    tail_ns = tuple(call.tail_ns for call in reply.calls if call.tail_ns is not None)
    if not all(0 <= tail <= wall_ns for tail in tail_ns):
        raise SolutionFailed.cheating(
            "tail",
            f"tails of {min(tail_ns)} to {max(tail_ns)} ns were reported in {wall_ns} ns",
            shortest_ns=min(tail_ns),
            longest_ns=max(tail_ns),
            wall_ns=wall_ns,
        )
    launch_ns = tuple(call.launch_ns for call in reply.calls if call.launch_ns is not None)
    queued = tuple(call.queued for call in reply.calls if call.queued is not None)
    is_whole = len(launch_ns) == len(call_ns) and all(0 <= ns <= wall_ns for ns in launch_ns)
    return ArmTurn(
        call_ns,
        wall_ns,
        tail_ns if len(tail_ns) == len(call_ns) else (),
        launch_ns if is_whole else (),
        queued if len(queued) == len(call_ns) else (),
    )
