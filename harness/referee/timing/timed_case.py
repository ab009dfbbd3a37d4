"""Timing a solution against baselines: a worker for each at one table, taking turns."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from harness.model.arms import ArmName, Metric, ReferenceArm
from harness.model.build import CompiledBaseline
from harness.model.check import Check
from harness.model.config import Config, LimitsConfig
from harness.model.timing import SHORT_NS, Row, TimerOverhead, Timing
from harness.model.verdict import Verdict
from harness.referee.answers.reference import InvalidProblem
from harness.referee.correctness import CaseOutcome, Notify, check_seated, take_first
from harness.referee.table.seated_case import SeatedCase, at
from harness.referee.table.seats import BaselineFailed, Seats
from harness.referee.table.shortage import is_memory_scarce
from harness.referee.table.turns import describe_arm
from harness.referee.timing.pacing import Pacing
from harness.referee.timing.player import Watchers, WorkerPlayer, claimed_turn
from harness.referee.timing.series import Series
from harness.referee.timing.timing import measure, measure_row, references_of, turn_length, warm_up
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.messages import FlagChange

_BRIEF_NS = 100_000
"""Calls of the baseline under it don't lengthen a turn much."""
_WAITING = 0.8
"""Of a call from its beginning until the device is idle: who waits is busy for nearly all of it. (Reasoned, not
measured.)"""


@dataclass(frozen=True)
class TimedOutcome:
    """A timing, the timed turns that were judged, remarks on the baselines, what compiling them took, and what the
    solution changed of torch's flags."""

    timing: Timing
    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    compiled: tuple[CompiledBaseline, ...] = ()
    changed: tuple[FlagChange, ...] = ()


class TimedCase:
    """The case that is timed, with the first baseline ready; made by `ready_for_timing`.

    First the solution is judged, then measured: over the same table, as the same module, in turns of the same lengths.
    """

    def __init__(self, case: SeatedCase, seats: Seats, watchers: Watchers, series: Series) -> None:
        self._case = case
        self._seats = seats
        self._watchers = watchers
        self._most_calls = case.table.places
        self._series = series
        case.pacing = self._pacing = Pacing(series.metric)

    def warm_up(self, config: Config, notify: Notify) -> None:
        """How long the first baseline's calls are, before the solution has run over this table.

        Raises: InvalidProblem where the reference fails as the first baseline.
        """
        first = config.timing.baselines[0]
        self._seats.fill(self._case.setting, (first,), config, notify)
        player = self._player(config, "warm-up")
        self._fastest_ns = warm_up(player, first, config.timing, self._most_calls).fastest_ns

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
            notify(f"checking {case.setting.case}")
            for number in range(2):
                taken, check, failed = take_first(case, number)
                checks.append(check)
                times_ns += claimed_turn(taken.reply, taken.wall_ns).call_ns
                if failed:
                    return CaseOutcome(tuple(checks), tuple(case.remarks), case.weights, failed)
            fastest_ns = (self._fastest_ns, min(times_ns))
            self._most_calls = self._usual_calls(fastest_ns)
            judged_calls = turn_length(fastest_ns, self._most_calls)
            outcome = check_seated(case, judged_calls, notify, self._watchers.auditor.check)
        return dataclasses.replace(outcome, checks=(*checks, *outcome.checks))

    def _usual_calls(self, fastest_ns: Sequence[int]) -> int:
        """Of a timed turn, if that isn't too long: many where calls are short, which scatter most. How long calls are
        measuring finds out anew: two slow ones at first, which a solution may well have, are not to make turns of one
        call, whose wall clock tells little."""
        places = self._case.table.places
        is_brief = self._fastest_ns < _BRIEF_NS or min(fastest_ns) < SHORT_NS
        return places if is_brief else min(places, self._case.config.timing.calls_per_turn)

    def measure(
        self,
        references: Mapping[ReferenceArm, WorkerProcess],
        config: Config,
        notify: Notify,
        floors: TimerOverhead | None = None,
    ) -> TimedOutcome:
        """Measure the solution against the first baseline and `references`, and judge some of its timed calls.

        Another arm than the first that can't run here (the compiler refuses, memory is short), or that takes the memory
        which the solution needs, is left out with a remark; then only the first stays beside it.

        Raises: SolutionFailed, InvalidProblem where the reference fails as the first baseline.
        """
        self._seats.admit(references)
        self._seats.fill(self._case.setting, references_of(config.timing)[1:], config, notify)
        by_count = config.timing.precision is None  # else few of them may do
        checks: list[Check] = []
        for attempt in itertools.count():  # one, unless an arm has to be left out
            timed = self._seated(config)
            player = self._player(timed, f"timed {attempt}")
            try:
                timing = measure(
                    player,
                    timed.timing,
                    self._case.rng,
                    self._most_calls,
                    self._series,
                    lambda done, most: notify(f"timing {done}/{most}" if by_count else f"timing, {done} blocks"),
                    floors=floors,
                )
                rows = self._rows(player, timed, notify)
                changed = self._flag_changes(config.limits)  # by workers that graphs haven't harmed yet
                compiled = self._seats.look_back(config.limits)
                rows += self._graphs(player, timed, notify)
                break
            except BaselineFailed as error:
                self._seats.leave_out((error.arm,), str(error))
            except (SolutionFailed, torch.OutOfMemoryError) as error:
                if not (self._seats.can_leave_out and _lacks_memory(error)):
                    raise
                others = self._seats.taken[1:]
                self._seats.leave_out(others, "beside it there is too little memory for the solution")
            finally:
                checks += player.checks
        timing = dataclasses.replace(timing, rows=rows, memory=player.memory)
        remarks = (*self._case.remarks, *self._seats.remarks, *metric_remarks(timing))
        return TimedOutcome(timing, tuple(checks), remarks, compiled, changed)

    def _seated(self, config: Config) -> Config:
        """The config of those that are there."""
        timing = dataclasses.replace(
            config.timing, baselines=self._seats.baselines, control="control" in self._seats.taken
        )
        return dataclasses.replace(config, timing=timing)

    def _rows(self, player: WorkerPlayer, config: Config, notify: Notify) -> tuple[Row, ...]:
        """Further metrics, but for graphs."""
        others = [name for name in config.timing.metrics if name not in (self._pacing.metric, "graph")]
        rows = [self._row_unless_it_fails(player, name, config, notify) for name in others]
        return tuple(row for row in rows if row)

    def _row_unless_it_fails(self, player: WorkerPlayer, metric: Metric, config: Config, notify: Notify) -> Row | None:
        """None where a baseline that can be done without fails in it: all rows are of all arms, and the headline has
        been measured already."""
        try:
            return self._row(player, metric, config, notify)
        except BaselineFailed as error:
            self._seats.remarks.append(f"{metric} isn't measured: {error.arm} fails in it: {error}")
            self._case.table.unseat(player.workers[error.arm])  # it may not even answer any more
            self._case.stillness.only(None)
            return None

    def _graphs(self, player: WorkerPlayer, config: Config, notify: Notify) -> tuple[Row, ...]:
        """The row of CUDA graphs. What can't be captured as one has no such row, and neither has its rival: all rows
        are of all arms. Afterwards a worker may be of no use any more."""
        if "graph" not in config.timing.metrics:
            return ()
        try:
            return (self._row(player, "graph", config, notify),)
        except (SolutionFailed, BaselineFailed, InvalidProblem) as error:
            self._seats.remarks.append(f"no CUDA graph of it can be measured: {error}")
            for worker in player.workers.values():  # they may not even answer any more
                self._case.table.unseat(worker)
            return ()

    def _row(self, player: WorkerPlayer, metric: Metric, config: Config, notify: Notify) -> Row:
        notify(f"timing {metric}")
        return measure_row(player, metric, config.timing, self._case.rng, self._most_calls)

    def _flag_changes(self, limits: LimitsConfig) -> tuple[FlagChange, ...]:
        """Raises: SolutionFailed."""
        self._case.stillness.only(self._case.worker)
        changes = describe_arm(self._case.worker, limits).flags
        self._case.stillness.only(None)
        return changes

    def _player(self, config: Config, phase: str) -> WorkerPlayer:
        workers: dict[ArmName, WorkerProcess] = {**self._seats.workers, "solution": self._case.worker}
        return WorkerPlayer(self._case, workers, config, self._watchers, phase, self._pacing)


def ready_for_timing(
    case: SeatedCase,
    references: Mapping[ReferenceArm, WorkerProcess],
    watchers: Watchers,
    config: Config,
    notify: Notify,
    series: Series | None = None,
) -> TimedCase:
    """Seat the first baseline, which has the GPU for itself until then. `series`: what it is a part of; None: alone.

    Raises: InvalidProblem.
    """
    seats = Seats(case.table, case.stillness, references)
    timed = TimedCase(case, seats, watchers, series or Series(config.timing))
    timed.warm_up(config, notify)
    return timed


def metric_remarks(timing: Timing) -> list[str]:
    """Why launches count. Who waits for the device only while arms warm up has them counted for the baseline, whose
    launches are many."""
    if timing.metric == "gpu_cold":
        return []
    measured = f"{timing.case}: measured end to end, from the call until the device is idle, on both sides: "
    if any(_keeps_its_host(timing, arm) for arm in {turn.arm for turn in timing.turns}):
        why = (
            "an arm waits for the device before it returns, or launches for as long as the device works, so that "
            "launches can't be kept out of its time"
        )
    else:
        why = (
            "while arms warmed up launches came late, but in measured turns no arm waits for the device; it isn't to "
            "be compared with what was measured on the device alone"
        )
    return [measured + why]


def _keeps_its_host(timing: Timing, arm: ArmName) -> bool:
    """Whether its calls return when the device is done, or nearly; also where that isn't known."""
    turns = [turn for turn in timing.turns if turn.arm == arm]
    shares = [part / whole for turn in turns for part, whole in zip(turn.launch_ns, turn.call_ns, strict=False)]
    return not shares or statistics.median(shares) >= _WAITING


def _lacks_memory(error: SolutionFailed | torch.OutOfMemoryError) -> bool:
    """A solution is believed only where the driver, too, says that memory is scarce: it would rather meet fewer
    baselines."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return error.verdict is Verdict.OUT_OF_MEMORY and is_memory_scarce()
