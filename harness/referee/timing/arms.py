"""The turns of arms with real workers: fresh inputs for each call, and the same conditions and instruments for all."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from harness.devices import Telemetry, Watch
from harness.model.arms import ArmName, Metric, ReferenceArm
from harness.model.check import Check
from harness.model.statistics import LEAST_BLOCKS
from harness.model.timing import PeakMemory, Turn
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.audit.auditor import Auditor
from harness.referee.audit.claims import require_plausible
from harness.referee.audit.idle_gpu import ProbeKernel
from harness.referee.buffers.case_turns import CaseTurns
from harness.referee.buffers.conduct import Conduct
from harness.referee.buffers.repetition import judge_call
from harness.referee.buffers.turns import Taken
from harness.referee.inputs.draws import Drawn
from harness.referee.timing.launch_hold import LaunchHold
from harness.referee.timing.references import BaselineFailed
from harness.referee.timing.settling import Settling
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.device import Conditions

_WITHOUT_ROWS = 0.5
"""The share of the timed turns that have a call judged in full where no single row can be."""

_CERTAIN = range(2 * LEAST_BLOCKS)
"""The numbers of an arm's turns that are always taken."""
_LATE_TURNS, _TRACED_TURNS = 2, 1
"""The solution's late and traced turns among those. A later turn is late or traced by the chance of so many in as many
turns as there were: it always may be, and yet there are few of them, each of which costs a turn more and is judged in
full. Of 24 turns 3.4 late ones and 1.7 traced ones are expected, of 400 nine and 4.5."""
_TRACED_CALLS = 3
"""The fewest calls that are traced, in further turns where a turn has fewer: one that was held up convicts nobody. The
first is alone in its turn: no other can do its work. Each turn is judged, since what works there excuses others
(audit.phases): a solution that knows a trace could leave out the work of a call that nobody looks at."""


@dataclass(frozen=True)
class Instruments(Conduct):
    """The conduct of the case that is timed, and what it is measured with."""

    hold: LaunchHold
    auditor: Auditor
    probe: ProbeKernel
    telemetry: Telemetry
    settling: Settling

    def conditions(self, metric: Metric | None = None) -> Conditions:
        return self.hold.conditions(metric)

    def late(self) -> Conditions:
        return replace(self.hold.conditions("gpu_cold"), late_inputs=True)

    def settle(self) -> int:
        return self.settling.wait()

    def watch(self, measured_pid: int) -> AbstractContextManager[Watch]:
        return self.telemetry.watch(measured_pid)


class WorkerArms:
    """Takes turns with real workers: fresh inputs for each call, and a secret choice of the solution's calls judged."""

    def __init__(
        self,
        case: CaseTurns,
        references: Mapping[ReferenceArm, WorkerProcess],
        instruments: Instruments,
        phase: str,
    ) -> None:
        """`phase` keeps the inputs of one measurement from being those of another."""
        self._case = case
        self._references = references
        self._first = case.config.timing.baselines[0]
        self._instruments = instruments
        self._is_warm = False
        arms: tuple[ArmName, ...] = (*references, "solution")
        self._count = dict.fromkeys(arms, 0)
        self._seeds = {arm: case.setting.seeds(phase, arm) for arm in arms}
        self._secret = secrets.SystemRandom()
        checked_turns = case.config.timing.checked_turns
        self._judged = set(self._secret.sample(_CERTAIN, min(checked_turns, len(_CERTAIN))))
        self._judged_share = len(self._judged) / len(_CERTAIN)
        if self._judged and not case.has_rows:
            self._judged_share = max(self._judged_share, _WITHOUT_ROWS)
        self._late = set(self._secret.sample(_CERTAIN, _LATE_TURNS))
        self._traced: dict[ArmName, int] = {arm: self._secret.choice(_CERTAIN) for arm in ("solution", self._first)}
        self._peak_bytes: dict[ArmName, int] = {}
        self._process_bytes: dict[ArmName, int] = {}
        self.checks: list[Check] = []

    @property
    def metric(self) -> Metric:
        return self._instruments.hold.metric

    @property
    def kernels(self) -> dict[ArmName, int]:
        return self._instruments.auditor.kernels

    @property
    def memory(self) -> tuple[PeakMemory, ...]:
        """The peaks of the arms whose workers report them."""
        return tuple(PeakMemory(arm, peak, self._process_bytes.get(arm)) for arm, peak in self._peak_bytes.items())

    def is_late(self, turn: Turn) -> bool:
        return self._instruments.hold.is_late(turn)

    def warmed_up(self) -> None:
        """Measure, audit and trace what comes from now on."""
        self._instruments.hold.settle()
        self._is_warm = True

    def turn(self, arm: ArmName, calls: int, metric: Metric | None = None) -> Turn:
        """Take a turn. Raises: SolutionFailed, BaselineFailed, InvalidProblem where the first baseline fails."""
        if metric is not None or not self._is_warm:
            taken = self._take(arm, calls, self._is_judged(None), metric=metric)
            return self._recorded(arm, taken, is_headline=metric is None)
        number = self._count[arm]
        self._count[arm] += 1
        auditor = self._instruments.auditor
        if arm == "solution" and (number in self._late or self._is_drawn(number, _LATE_TURNS)):
            self._take_late(calls)
        if number == self._traced.get(arm) or (arm == "solution" and self._is_drawn(number, _TRACED_TURNS)):
            sizes = [1, *[calls] * math.ceil((_TRACED_CALLS - 1) / calls)]
            for size in sizes:
                traced = self._take(arm, size, is_judged=True, traced=True)
                by_host = self.metric == "end_to_end"
                auditor.trace(arm, size, traced.answered, traced.wall_ns, by_host=by_host)
        taken = self._take(arm, calls, is_judged=self._is_judged(number))
        turn = self._recorded(arm, taken, is_headline=True)
        auditor.turn(arm, calls, taken.answered, taken.wall_ns)
        return turn

    def _is_judged(self, number: int | None) -> bool:
        """Say whether a turn is judged: some of the turns that are always taken are, and any other is by the same
        chance."""
        return number in self._judged or self._secret.random() < self._judged_share

    def _is_drawn(self, number: int, certain: int) -> bool:
        """Say whether a later turn is drawn, where `certain` are drawn of those that are always taken."""
        return number >= len(_CERTAIN) and self._secret.random() * number < certain

    def _recorded(self, arm: ArmName, taken: Taken, is_headline: bool) -> Turn:
        turn = recorded_turn(arm, taken)
        if is_headline:
            _keep_most(self._peak_bytes, arm, taken.answered.peak_bytes)
        self._instruments.hold.note(turn)
        return turn

    def _take(
        self, arm: ArmName, calls: int, is_judged: bool, traced: bool = False, metric: Metric | None = None
    ) -> Taken:
        case, conditions = self._case, self._case.conduct.conditions(metric)
        laid = case.lay(self._draw(arm, calls))
        if arm == "solution":
            row = None if is_judged else case.keep_row(laid)
            taken = replace(case.take(case.worker, laid, conditions, traced=traced), row=row)
            taken = case.accept(replace(taken, probe_ns=self._probe(arm)))
            self._judge(taken, is_judged)
        else:
            self._probe("solution")  # what it asked of the GPU before it was stopped may have waited until now
            try:
                taken = case.take(self._references[arm], laid, conditions, traced=traced)
            except SolutionFailed as error:
                if arm != self._first:
                    raise BaselineFailed(arm, str(error)) from error
                raise InvalidProblem(f"the reference fails while it is timed ({arm}): {error}") from error
            # A turn's probe is the one after it: the solution has no say in the baseline's.
            taken = replace(taken, probe_ns=self._probe(arm))
        if metric is None:
            _keep_most(self._process_bytes, arm, taken.process_bytes)
        return taken

    def _take_late(self, calls: int) -> None:
        """Take a turn of the same form as a timed one, judged whole, and no sample: its inputs come late. Only code
        that looks into our part of the worker's process can tell them apart."""
        taken = self._case.turn(self._draw("solution", calls), conditions=self._case.conduct.late())
        _keep_most(self._process_bytes, "solution", taken.process_bytes)
        self._judge(taken, is_complete=True)

    def _draw(self, arm: ArmName, calls: int) -> list[Drawn]:
        return [Drawn(next(self._seeds[arm])) for _ in range(calls)]

    def _probe(self, after: ArmName) -> int | None:
        """Time a probe while all workers are frozen: the GPU is idle then, or somebody has left work on it."""
        if after != "control" and after not in self._traced:
            return None
        probe_ns = self._instruments.probe.run_ns()
        if after in self._traced:
            self._instruments.auditor.rest(probe_ns, after=after)
        return probe_ns

    def _judge(self, taken: Taken, is_complete: bool) -> None:
        """A random call in full, or else the row that was kept of one."""
        if is_complete:
            check, failed = judge_call(self._case, taken, self._case.rng.randrange(len(taken.laid.drawn)), "timed_turn")
        elif taken.row is not None:
            check, failed = judge_call(self._case, taken, taken.row.call, "timed_turn", taken.row)
        else:
            return
        if is_complete or failed:
            self.checks.append(check)
        if failed:
            raise failed


def recorded_turn(arm: ArmName, taken: Taken) -> Turn:
    """The turn as the record has it, of no block yet. Raises: SolutionFailed where what the worker claims can't be
    true, in turns that warm up as well."""
    calls, wall_ns = taken.answered.calls, taken.wall_ns
    call_ns = require_plausible([call.gpu_ns for call in calls], len(calls), wall_ns)
    tail_ns = tuple(call.tail_ns for call in calls if call.tail_ns is not None)
    if not all(0 <= tail <= wall_ns for tail in tail_ns):
        raise SolutionFailed.cheating(
            "tail",
            f"tails of {min(tail_ns)} to {max(tail_ns)} ns were reported in {wall_ns} ns",
            shortest_ns=min(tail_ns),
            longest_ns=max(tail_ns),
            wall_ns=wall_ns,
        )
    launch_ns = tuple(call.launch_ns for call in calls if call.launch_ns is not None)
    queued = tuple(call.queued for call in calls if call.queued is not None)
    is_whole = len(launch_ns) == len(call_ns) and all(0 <= ns <= wall_ns for ns in launch_ns)
    return Turn(
        arm=arm,
        block=0,
        call_ns=call_ns,
        wall_ns=wall_ns,
        tail_ns=tail_ns if len(tail_ns) == len(call_ns) else (),
        launch_ns=launch_ns if is_whole else (),
        queued=queued if len(queued) == len(call_ns) else (),
        canary_ns=taken.probe_ns,
        gpu=taken.gpu,
        fill_ns=taken.fill_ns,
    )


def _keep_most(kept: dict[ArmName, int], arm: ArmName, found: int | None) -> None:
    if found is not None:
        kept[arm] = max(kept.get(arm, 0), found)
