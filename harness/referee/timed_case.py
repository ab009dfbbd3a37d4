"""Timing a solution against baselines: a worker for each at one table, taking turns."""

from __future__ import annotations

import dataclasses
import itertools
import random
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

from harness.backends.base import Host
from harness.records.check import Check
from harness.records.config import Config
from harness.records.timing import ArmName, Baseline, Timing
from harness.records.verdict import Verdict
from harness.referee.audit import require_plausible
from harness.referee.correctness import Notify, failure_of
from harness.referee.judgement import judge_form, judge_values
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.seats import BaselineFailed, Seats
from harness.referee.setting import Setting
from harness.referee.shortage import is_memory_scarce
from harness.referee.table import Table, TimedReply
from harness.referee.timing import LEAST_BLOCKS, ArmTurn, measure
from harness.referee.turns import construct_arm, take_turn
from harness.referee.worker_process import WorkerProcess


@dataclass(frozen=True)
class TimedOutcome:
    """A timing, the timed turns that were judged, and which baselines had to be left out."""

    timing: Timing
    checks: tuple[Check, ...]
    remarks: tuple[str, ...]


def time_solution(
    setting: Setting,
    host: Host,
    worker: WorkerProcess,
    references: Mapping[Baseline, WorkerProcess],
    config: Config,
    notify: Notify,
) -> TimedOutcome:
    """Measure the loaded solution against the baselines in their fresh workers, and judge some of the timed turns.

    The first baseline is the one that counts. Another that can't run here (the compiler refuses, memory is short), or
    that takes the memory which the solution needs, is left out with a remark; then only the first stays beside it.

    Raises: SolutionFailed, InvalidProblem where the reference fails as the first baseline.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-reference-")))
        table = stack.enter_context(Table(host, setting.spec))
        table.lay_inputs(setting.reference.make_inputs(setting.seed("timed", 0)))
        seats = Seats(table, references)
        seats.fill(setting, config, folder, notify)
        table.seat(worker, config.limits.load_s)
        construct_arm(worker, table, setting, config.limits)
        checks: list[Check] = []
        for attempt in itertools.count():  # one, unless a baseline has to be left out
            timed = dataclasses.replace(config, timing=dataclasses.replace(config.timing, baselines=seats.taken))
            player = WorkerPlayer(table, {**seats.workers, "solution": worker}, setting, timed, attempt)
            try:
                timing = measure(player, timed.timing, _rng(), lambda done, total: notify(f"timing {done}/{total}"))
                break
            except BaselineFailed as error:
                seats.leave_out((error.baseline,), str(error))
            except (SolutionFailed, torch.OutOfMemoryError) as error:
                if not (seats.can_leave_out and _lacks_memory(error)):
                    raise
                seats.leave_out(seats.taken[1:], "beside it there is too little memory for the solution")
            finally:
                checks += player.checks
    return TimedOutcome(timing, tuple(checks), tuple(seats.remarks))


class WorkerPlayer:
    """Takes turns with real workers: fresh inputs for each, and a secret choice of them judged."""

    def __init__(
        self,
        table: Table,
        workers: Mapping[ArmName, WorkerProcess],
        setting: Setting,
        config: Config,
        attempt: int = 0,
    ) -> None:
        """`attempt` keeps the inputs of a second measurement from being those of the first."""
        self._table = table
        self._workers = workers
        self._setting = setting
        self._config = config
        self._attempt = attempt
        self._count = dict.fromkeys(workers, 0)
        certain = range(config.timing.warmup_turns, config.timing.warmup_turns + 2 * LEAST_BLOCKS)
        chosen = min(config.timing.checked_turns, len(certain))
        self._judged = set(secrets.SystemRandom().sample(certain, chosen))
        self.checks: list[Check] = []

    def turn(self, arm: ArmName, calls: int) -> ArmTurn:
        """Raises: SolutionFailed, BaselineFailed, InvalidProblem where the first baseline fails."""
        number = self._count[arm]
        self._count[arm] += 1
        seed = self._setting.seed("timed", self._attempt, arm, number)
        self._table.lay_inputs(self._setting.reference.make_inputs(seed))
        timed = self._take_turn(arm, calls)
        if timed.reply.call_ns is None:
            raise SolutionFailed.cheating("claimed_times", f"no times were reported for {calls} timed calls")
        taken = ArmTurn(timed.reply.call_ns, timed.wall_ns)
        require_plausible(taken, calls)
        if arm == "solution":
            judge_form(timed.reply, self._setting.spec)
            if number in self._judged:
                self._judge(seed)
        return taken

    def _take_turn(self, arm: ArmName, calls: int) -> TimedReply:
        try:
            return take_turn(self._workers[arm], self._table, self._config.limits, calls)
        except SolutionFailed as error:
            if arm == "solution":
                raise
            if arm != self._config.timing.baselines[0]:
                raise BaselineFailed(arm, str(error)) from error
            raise InvalidProblem(f"the reference fails while it is timed ({arm}): {error}") from error

    def _judge(self, seed: int) -> None:
        """Against inputs made anew: what lies in the shared buffers now may be the worker's."""
        inputs = self._setting.reference.make_inputs(seed)
        check = self._setting.check(seed, "timed_turn", judge_values(self._table.outputs(), inputs, self._setting))
        self.checks.append(check)
        del inputs
        if self._setting.reference.on_gpu:
            torch.cuda.empty_cache()
        if failed := failure_of(check):
            raise failed


def _rng() -> random.Random:
    return random.Random(secrets.randbits(64))


def _lacks_memory(error: SolutionFailed | torch.OutOfMemoryError) -> bool:
    """A solution is believed only where the driver, too, says that memory is scarce: it would rather meet fewer
    baselines."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return error.verdict is Verdict.OUT_OF_MEMORY and is_memory_scarce()
