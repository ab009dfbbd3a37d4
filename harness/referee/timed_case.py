"""Timing a solution against the reference: two workers at one table, taking turns."""

from __future__ import annotations

import random
import secrets
import tempfile
from contextlib import ExitStack
from pathlib import Path

import torch

from harness.backends.base import Host
from harness.records.check import Check
from harness.records.config import Config
from harness.records.timing import ArmName, Timing
from harness.referee.audit import require_plausible
from harness.referee.correctness import Notify, failure_of
from harness.referee.judgement import judge_form, judge_values
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.setting import Setting
from harness.referee.table import Table, TimedReply
from harness.referee.timing import LEAST_BLOCKS, ArmTurn, measure
from harness.referee.turns import construct_arm, load_arm, take_turn
from harness.referee.worker_process import WorkerProcess


def time_solution(
    setting: Setting, host: Host, worker: WorkerProcess, reference: WorkerProcess, config: Config, notify: Notify
) -> tuple[Timing, tuple[Check, ...]]:
    """Measure the loaded solution against eager in the fresh worker `reference`, and judge some of the timed turns.

    Raises: SolutionFailed, InvalidProblem where the reference itself fails in its worker.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-reference-")))
        table = stack.enter_context(Table(host, setting.spec))
        table.lay_inputs(setting.reference.make_inputs(setting.seed("timed", 0)))
        players: dict[ArmName, WorkerProcess] = {"eager": reference, "solution": worker}
        _seat_reference(reference, folder, table, setting, config)
        table.seat(worker, config.limits.load_s)
        construct_arm(worker, table, setting, config.limits)
        player = WorkerPlayer(table, players, setting, config)
        timing = measure(
            player,
            config.timing,
            random.Random(secrets.randbits(64)),
            lambda done, total: notify(f"timing {done}/{total}"),
        )
    return timing, tuple(player.checks)


class WorkerPlayer:
    """Takes turns with real workers: fresh inputs for each, and a secret choice of them judged."""

    def __init__(self, table: Table, workers: dict[ArmName, WorkerProcess], setting: Setting, config: Config) -> None:
        self._table = table
        self._workers = workers
        self._setting = setting
        self._config = config
        self._count = {"eager": 0, "solution": 0}
        certain = range(config.timing.warmup_turns, config.timing.warmup_turns + 2 * LEAST_BLOCKS)
        chosen = min(config.timing.checked_turns, len(certain))
        self._judged = set(secrets.SystemRandom().sample(certain, chosen))
        self.checks: list[Check] = []

    def turn(self, arm: ArmName, calls: int) -> ArmTurn:
        """Raises: SolutionFailed."""
        number = self._count[arm]
        self._count[arm] += 1
        seed = self._setting.seed("timed", arm, number)
        self._table.lay_inputs(self._setting.reference.make_inputs(seed))
        timed = self._take_turn(arm, calls)
        if timed.reply.call_ns is None:
            raise SolutionFailed.cheating(f"no times were reported for {calls} timed calls")
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
            raise InvalidProblem(f"the reference fails while it is timed: {error}") from error

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


def _seat_reference(worker: WorkerProcess, folder: Path, table: Table, setting: Setting, config: Config) -> None:
    file = folder / "problem.py"
    file.write_text(setting.problem.source_for(setting.case))
    try:
        load_arm(worker, str(file), "Model", config.limits)
        table.seat(worker, config.limits.load_s)
        construct_arm(worker, table, setting, config.limits)
    except SolutionFailed as error:
        raise InvalidProblem(f"the reference fails in its worker: {error}") from error
