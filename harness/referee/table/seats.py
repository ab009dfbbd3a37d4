"""The baselines at the table: who could be made ready, and who had to leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from harness.model.arms import ArmName, Baseline, ReferenceArm
from harness.model.build import CompiledBaseline
from harness.model.config import Config, LimitsConfig
from harness.referee.answers.reference import InvalidProblem
from harness.referee.flag_changes import flag_remarks
from harness.referee.judgement import judge_form
from harness.referee.setting import Setting
from harness.referee.table.stillness import Stillness
from harness.referee.table.table import Table
from harness.referee.table.turns import construct_arm, describe_arm, load_arm, take_turn
from harness.referee.timing.baselines import flags_of, optimization_of
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.messages import Compilation, Described


class BaselineFailed(Exception):
    """A baseline that can be done without failed in a timed turn."""

    def __init__(self, arm: ReferenceArm, why: str) -> None:
        super().__init__(why)
        self.arm = arm


class Seats:
    """`taken` are the arms of the reference that are ready, in the order in which they were asked for; `remarks` say
    why others aren't.

    The first is never left out: the headline speed-up is over it, and the control is like it.
    """

    def __init__(self, table: Table, stillness: Stillness, references: Mapping[ReferenceArm, WorkerProcess]) -> None:
        self._table = table
        self._stillness = stillness
        self._references = dict(references)
        self.taken: tuple[ReferenceArm, ...] = ()
        self.remarks: list[str] = []
        self._compile_s: dict[ReferenceArm, float] = {}

    def admit(self, references: Mapping[ReferenceArm, WorkerProcess]) -> None:
        """Workers that were started later."""
        self._references |= references

    def fill(
        self,
        setting: Setting,
        arms: Sequence[ReferenceArm],
        config: Config,
        notify: Callable[[str], None],
    ) -> None:
        """Make these ready.

        Raises: InvalidProblem where the first of all can't be.
        """
        for arm in arms:
            notify(f"preparing {arm}")
            try:
                self._seat(arm, setting, config)
            except SolutionFailed as error:
                if not self.taken:
                    raise InvalidProblem(f"the reference fails in its worker ({arm}): {error}") from error
                self.leave_out((arm,), str(error))
            else:
                self.taken = (*self.taken, arm)

    @property
    def workers(self) -> dict[ArmName, WorkerProcess]:
        return {arm: self._references[arm] for arm in self.taken}

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        return tuple(arm for arm in self.taken if arm != "control")

    @property
    def can_leave_out(self) -> bool:
        return len(self.taken) > 1

    def leave_out(self, arms: Sequence[ReferenceArm], why: str) -> None:
        """End their workers: what they hold of the GPU's memory goes with them."""
        for arm in arms:
            self._references[arm].close()
            self._table.unseat(self._references[arm])
            self._stillness.leave(self._references[arm])
            what = "the control" if arm == "control" else f"baseline {arm}"
            self.remarks.append(f"{what} is left out: {why}")
        self.taken = tuple(arm for arm in self.taken if arm not in arms)

    def look_back(self, limits: LimitsConfig) -> tuple[CompiledBaseline, ...]:
        """What compiling took, and a remark where torch's flags were changed, once the turns are over: until then the
        compiler may be at work again. The control isn't asked: it is the first baseline once more."""
        compiled = tuple(found for baseline in self.baselines if (found := self._look_back(baseline, limits)))
        self._stillness.only(None)
        return compiled

    def _seat(self, arm: ReferenceArm, setting: Setting, config: Config) -> None:
        """Load, construct, and take a turn that isn't timed: torch.compile() compiles at the first call, for as long as
        a build may take. How long it took, a second turn tells."""
        baseline = config.timing.baselines[0] if arm == "control" else arm
        worker = self._references[arm]
        self._stillness.only(worker)
        file = worker.bring_text("problem.py", setting.problem.source_for(setting.case))
        load_arm(worker, file, "Model", config.limits, flags_of(baseline))
        self._table.seat(worker, config.limits.load_s)
        optimization = optimization_of(baseline)
        construct_arm(worker, self._table, setting, config.limits, optimization)
        patient = dataclasses.replace(config.limits, turn_s=config.limits.turn_s + config.limits.build_s)
        first = take_turn(worker, self._table, patient)
        judge_form(first.reply.calls[0], setting.spec)
        if optimization and optimization.compile_mode:
            second = take_turn(worker, self._table, patient)
            self._compile_s[arm] = max(0, first.wall_ns - second.wall_ns) / 1e9
        self._stillness.join(worker)

    def _look_back(self, baseline: Baseline, limits: LimitsConfig) -> CompiledBaseline | None:
        worker = self._references[baseline]
        self._stillness.only(worker)
        try:
            described = describe_arm(worker, limits)
        except SolutionFailed as error:  # it has been measured; what is lost is this account
            self.remarks.append(f"baseline {baseline} didn't tell of torch's flags and compiler: {error}")
            described = Described((), None)
        self.remarks += flag_remarks(f"the reference ({baseline})", described.flags)
        if baseline not in self._compile_s:
            return None
        counts = described.compilation or Compilation(None, None, None)
        return CompiledBaseline(
            baseline, self._compile_s[baseline], counts.graphs, counts.graph_breaks, counts.recompilations
        )
