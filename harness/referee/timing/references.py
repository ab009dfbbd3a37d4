"""The arms of the reference: how each runs it, which could be made ready, and which had to be left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from harness.devices import FLAGS
from harness.model.arms import Baseline, ReferenceArm
from harness.model.build import CompiledBaseline
from harness.model.config import Config, LimitsConfig, TimingConfig
from harness.model.environment import Flag
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.buffers.buffers import Buffers
from harness.referee.buffers.turns import Taken, construct_arm, describe_arm, flag_remarks, load_arm, take_turn
from harness.referee.correctness import Notify
from harness.referee.judgement import judge_form
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import Made, WorkerProcess
from harness.sandbox.wire.messages import Compilation, Described, Optimization, TakeTurn
from harness.workspace.problem import Problem

OPTIMIZATIONS = {
    "compile": Optimization(compile_mode="default"),
    "compile-max-autotune": Optimization(compile_mode="max-autotune"),
    "channels-last": Optimization(channels_last=True),
    "eager-float64": Optimization(dtype="float64"),
    "eager-float32": Optimization(dtype="float32"),
    "eager-tf32": Optimization(dtype="float32"),
    "eager-float16": Optimization(dtype="float16"),
    "eager-bfloat16": Optimization(dtype="bfloat16"),
}
"""The changes that baselines make to the model; those without run it as it is. Compiled code lies in the worker's own
scratch and goes with it: in a cache that outlives it, a solution could leave slow code for the baseline of the next."""
_STRICT: dict[str, Flag] = {
    "cudnn_allow_tf32": False,
    "matmul_allow_tf32": False,
    "float32_matmul_precision": "highest",
}
_TF32: dict[str, Flag] = {"cudnn_allow_tf32": True, "matmul_allow_tf32": True, "float32_matmul_precision": "high"}
_FLAGS: dict[Baseline, dict[str, Flag]] = {
    "cudnn-benchmark": {"cudnn_benchmark": True},
    "eager-float32": _STRICT,
    "eager-tf32": _TF32,
}

_CHOOSING = ("compile-max-autotune", "cudnn-benchmark")
"""The baselines that choose among kernels by trying: a solution could have disturbed that, for all that follow. (A CUDA
graph may harm its worker.)"""


def references_of(config: TimingConfig) -> tuple[ReferenceArm, ...]:
    """The arms of the reference, the first baseline first."""
    return (*config.baselines, "control") if config.control else config.baselines


def flags_of(baseline: Baseline) -> dict[str, Flag]:
    """torch's switches in the baseline's worker: those of all arms, but for what makes it another baseline."""
    return {**FLAGS, **_FLAGS.get(baseline, {})}


def made_of(arm: ReferenceArm, config: TimingConfig, problem: Problem, seed: int) -> tuple[object, ...]:
    """All that a reference's module follows from, in the case that is timed under a run's seed."""
    baseline = config.baselines[0] if arm == "control" else arm
    return arm, baseline, problem.sha256, config.case, problem.batch_statistics, seed


class BaselineFailed(Exception):
    """A baseline that can be done without failed in a timed turn."""

    def __init__(self, arm: ReferenceArm, why: str) -> None:
        super().__init__(why)
        self.arm = arm


@dataclass(eq=False)
class References:
    """The arms that are `ready`, in the order in which they were asked for; `remarks` say why others aren't.

    The first is never left out: the headline speed-up is over it, and the control is like it.
    """

    setting: Setting
    buffers: Buffers
    started: Mapping[ReferenceArm, WorkerProcess]
    """The workers, of which some may be started later."""
    config: Config
    notify: Notify
    ready: tuple[ReferenceArm, ...] = ()
    remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._workers = dict(self.started)
        self._compile_s: dict[ReferenceArm, float] = {}

    def admit(self, workers: Mapping[ReferenceArm, WorkerProcess]) -> None:
        self._workers |= workers

    def make_ready(self, arms: Sequence[ReferenceArm]) -> None:
        """Load and construct these.

        Raises: InvalidProblem where the first of all can't be.
        """
        for arm in arms:
            self.notify(f"preparing {arm}")
            try:
                self._make_ready(arm)
            except SolutionFailed as error:
                if not self.ready:
                    raise InvalidProblem(f"the reference fails in its worker ({arm}): {error}") from error
                self.leave_out((arm,), str(error))
            else:
                self.ready = (*self.ready, arm)

    @property
    def workers(self) -> dict[ReferenceArm, WorkerProcess]:
        """The workers of the arms that are ready."""
        return {arm: self._workers[arm] for arm in self.ready}

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        return tuple(arm for arm in self.ready if arm != "control")

    def leave_out(self, arms: Sequence[ReferenceArm], why: str) -> None:
        """End their workers: what they hold of the GPU's memory goes with them."""
        for arm in arms:
            worker = self._workers[arm]
            worker.close()
            self.buffers.forget(worker)
            self.buffers.freezer.remove(worker)
            what = "the control" if arm == "control" else f"baseline {arm}"
            self.remarks.append(f"{what} is left out: {why}")
        self.ready = tuple(arm for arm in self.ready if arm not in arms)

    def look_back(self) -> tuple[CompiledBaseline, ...]:
        """Return what compiling took, and remark where torch's flags were changed, once the turns are over: until then
        the compiler may be at work again. The control isn't asked: it is the first baseline once more."""
        compiled = tuple(found for baseline in self.baselines if (found := self._look_back(baseline)))
        self.buffers.freezer.freeze()
        return compiled

    def _make_ready(self, arm: ReferenceArm) -> None:
        """Load, construct, and take a turn that isn't timed: torch.compile() compiles at the first call, for as long as
        a build may take. A second turn shows how long that was. Or have what an earlier evaluation made so."""
        setting, config = self.setting, self.config
        baseline = config.timing.baselines[0] if arm == "control" else arm
        worker, made = self._workers[arm], self._workers[arm].made
        worker.made = None
        self.buffers.freezer.thaw_only(worker)
        if made is None or made.drawn != setting.drawn:
            file = worker.bring_text("problem.py", setting.problem.source_for(setting.case))
            load_arm(worker, file, "Model", config.limits, flags_of(baseline))
            made = None
        self.buffers.attach(worker, config.limits.load_s)
        optimization = OPTIMIZATIONS.get(baseline)
        if made is None:
            construct_arm(worker, self.buffers, setting, config.limits, optimization)
        patient = replace(config.limits, turn_s=config.limits.turn_s + config.limits.build_s)
        first = self._untimed_turn(worker, patient)
        judge_form(first.answered.calls[0], setting.spec)
        if made is None:
            compile_s = None
            if optimization and optimization.compile_mode:
                second = self._untimed_turn(worker, patient)
                compile_s = max(0, first.wall_ns - second.wall_ns) / 1e9
            of = made_of(arm, config.timing, setting.problem, setting.master_seed)
            made = Made(of, setting.drawn, compile_s)
        if made.compile_s is not None:
            self._compile_s[arm] = made.compile_s
        if baseline not in _CHOOSING and config.timing.processes == 1 and "graph" not in config.timing.metrics:
            worker.made = made
        self.buffers.freezer.add(worker)

    def _untimed_turn(self, worker: WorkerProcess, limits: LimitsConfig) -> Taken:
        return take_turn(worker, self.buffers, TakeTurn(self.buffers.calls((0,))), limits)

    def _look_back(self, baseline: Baseline) -> CompiledBaseline | None:
        worker = self._workers[baseline]
        self.buffers.freezer.thaw_only(worker)
        try:
            described = describe_arm(worker, self.config.limits)
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
