"""The baselines at the table: who could be made ready, and who had to leave."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from harness.records.config import Config
from harness.records.timing import ArmName, Baseline, ReferenceArm
from harness.referee.baselines import flags_of, optimization_of
from harness.referee.judgement import judge_form
from harness.referee.outcome import SolutionFailed
from harness.referee.reference import InvalidProblem
from harness.referee.setting import Setting
from harness.referee.stillness import Stillness
from harness.referee.table import Table
from harness.referee.turns import construct_arm, load_arm, take_turn
from harness.referee.worker_process import WorkerProcess


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

    def _seat(self, arm: ReferenceArm, setting: Setting, config: Config) -> None:
        """Load, construct, and take one turn that isn't timed: torch.compile() compiles at the first call, for as long
        as a build may take."""
        baseline = config.timing.baselines[0] if arm == "control" else arm
        worker = self._references[arm]
        self._stillness.only(worker)
        file = worker.bring_text("problem.py", setting.problem.source_for(setting.case))
        load_arm(worker, file, "Model", config.limits, flags_of(baseline))
        self._table.seat(worker, config.limits.load_s)
        construct_arm(worker, self._table, setting, config.limits, optimization_of(baseline))
        patient = dataclasses.replace(config.limits, turn_s=config.limits.turn_s + config.limits.build_s)
        judge_form(take_turn(worker, self._table, patient).reply.calls[0], setting.spec)
        self._stillness.join(worker)
