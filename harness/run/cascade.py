"""CPU first: the simulator judges a solution that compiles before a GPU does, and what is surely wrong ends there."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.builder.build import BuildOutcome
from harness.builder.workers import Workers
from harness.devices import beyond_simulator, open_host
from harness.errors import Interrupted, MachineError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.languages import python_languages_in
from harness.model.simulator_findings import FINDING_KINDS
from harness.model.verdict import Verdict
from harness.referee.certainty import is_certain
from harness.referee.job import Job
from harness.referee.outage import Outage
from harness.referee.setting import derive
from harness.run.building import build_job
from harness.run.lane import Assignment, Lane, LaneSettings, ProcessLane, Stop
from harness.sandbox.process import TextsNotBuilt
from harness.sandbox.wire.extension_text import ExtensionText

_CORES = 8
"""The builds' cores for each solution that is simulated at once: half as many are built at once as there are cores, and
building takes four times as long."""
_FEWEST = 2
_BUDGET_S = 120.0
_TURNS = 30
"""The turns of which the budget would do if each took limits.turn_s, which the checked build multiplies."""
_MOST_BUILDS = 3
_SAID = (Verdict.WRONG_VALUES, Verdict.WRONG_OUTPUT_TYPE, Verdict.WRONG_SHAPE, Verdict.WRONG_DTYPE)
"""Verdicts of the simulator that are said where a GPU decides, beside the faults that it sees in kernels. Others are
limits of its own, or accuse."""


@dataclass(frozen=True)
class Simulated:
    """The simulator's part in an evaluation. `certain` ends it. Else a GPU decides, in whose record `remark` stands, if
    the simulator saw a fault."""

    seconds: float
    certain: Evaluation | None = None
    remark: str | None = None


class Cascade:
    """The simulator beside a session's GPUs, made ready when it is first asked."""

    def __init__(self, gpu: Workers, cores: int, say: Callable[[str], None], budget_s: float = _BUDGET_S) -> None:
        """`gpu`: the session's workers, in whose sandboxes the simulator's run, too. The `cores` are those of builds.
        `budget_s`: seconds for judging a solution, and for building it, after which a GPU is asked."""
        self._gpu = gpu
        self._budget_s = budget_s
        self._say = say
        self._lock = threading.Lock()
        self._workers: Workers | None = None
        self._is_missing = False
        at_once = max(_FEWEST, cores // _CORES)
        settings = LaneSettings("sim", gpu.cache, gpu.memory_gib, None, None, gpu.surroundings, sanitize=True)
        variables = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": str(max(1, cores // (2 * at_once)))}
        deadlines = [_Deadline(gpu.stop, budget_s) for _ in range(at_once)]
        self._lanes = [(ProcessLane(settings, variables, deadline), deadline) for deadline in deadlines]
        self._free: queue.LifoQueue[tuple[Lane, _Deadline]] = queue.LifoQueue()  # no more processes than are needed
        for one in self._lanes:
            self._free.put(one)

    def judge(self, job: Job, built: BuildOutcome, environment: Environment) -> Simulated | None:
        """Judge what was `built` for the GPU of `environment` on the simulator; None where it has nothing to say.

        Raises: Interrupted.
        """
        if not _may_be_simulated(job, environment) or (workers := self._simulator()) is None:
            return None
        started = time.monotonic()
        simulated = replace(job, config=_on_simulator(job.config, self._budget_s), seed=derive(job.seed, "simulator"))
        evaluation = self._evaluation(simulated, workers, _without_gpu(environment))
        seconds = time.monotonic() - started
        if evaluation is None:
            return Simulated(seconds)
        if is_certain(evaluation):
            return Simulated(seconds, _of_the_gpus_session(evaluation, job, built, environment, seconds))
        return Simulated(seconds, remark=_remark(evaluation))

    def close(self) -> None:
        """End the simulator's processes when nothing is judged any more."""
        for lane, _ in self._lanes:
            lane.close()

    def _simulator(self) -> Workers | None:
        """Return what builds for the simulator; None where it can't run here, which is said once."""
        with self._lock:
            if self._workers is None and not self._is_missing:
                try:
                    host = open_host("sim", self._gpu.cache, self._say, sanitize=True)
                    self._workers = replace(self._gpu, host=host, facts={}, lessons={}, idle=[])
                except MachineError as error:
                    self._is_missing = True
                    self._say(f"nothing is judged on the CPU before the GPU: {error}")
            return self._workers

    def _evaluation(self, job: Job, workers: Workers, environment: Environment) -> Evaluation | None:
        """Evaluate on the simulator; None where that came to nothing. Raises: Interrupted."""
        wanted: Sequence[ExtensionText] = ()
        for _ in range(_MOST_BUILDS):
            built = build_job(job, workers, wanted)
            if built.failed or built.missing:  # nvcc compiles it: a gap of the simulator's
                return None
            try:
                with self._lane() as lane:
                    return lane.evaluate(Assignment(job, built, environment), lambda what: None)
            except TextsNotBuilt as error:
                wanted = error.texts
            except (MachineError, Outage):
                return None
            except Interrupted:
                if self._gpu.stop.is_set():
                    raise
                return None
        return None

    @contextlib.contextmanager
    def _lane(self) -> Iterator[Lane]:
        """Lend a lane for as long as judging may take; what goes on for longer is ended with its process."""
        lane, deadline = self._free.get()
        try:
            deadline.begin()
            try:
                yield lane
            finally:
                lane.examine()
        except Interrupted:
            lane.close()
            raise
        finally:
            self._free.put((lane, deadline))


class _Deadline:
    """A time limit that also ends with the session."""

    def __init__(self, session: Stop, budget_s: float) -> None:
        self._session = session
        self._budget_s = budget_s
        self._ends_at = 0.0

    def begin(self) -> None:
        """Begin anew. Raises: Interrupted where the session has ended."""
        if self._session.is_set():
            raise Interrupted
        self._ends_at = time.monotonic() + self._budget_s

    def is_set(self) -> bool:
        return self._session.is_set() or time.monotonic() > self._ends_at


def with_simulated(evaluation: Evaluation, simulated: Simulated | None) -> Evaluation:
    """A GPU's evaluation, with what the simulator saw before."""
    if simulated is None:
        return evaluation
    remarks = (*evaluation.remarks, simulated.remark) if simulated.remark else evaluation.remarks
    return replace(evaluation, remarks=remarks, stages_s={**evaluation.stages_s, "simulator": simulated.seconds})


def _may_be_simulated(job: Job, environment: Environment) -> bool:
    about = job.solution.about
    if about.needs_gpu or not about.runs_on(environment.compute_capability):
        return False
    files = job.solution_ref.files
    return not (beyond_simulator(files) or python_languages_in(files))


def _on_simulator(config: Config, budget_s: float) -> Config:
    """The config for correctness alone, soon and with every access looked at."""
    build_s, turn_s = min(config.limits.build_s, budget_s), min(config.limits.turn_s, budget_s / _TURNS)
    for_correctness = config.but("timing", enabled=False).but("nvcc", enabled=False)
    return for_correctness.but("correctness", seeds=1, sanitize=True).but("limits", build_s=build_s, turn_s=turn_s)


def _without_gpu(environment: Environment) -> Environment:
    return replace(
        environment,
        backend="sim",
        gpu=None,
        gpu_memory_bytes=None,
        gpu_uuid=None,
        driver=None,
        compute_capability=None,
        cudnn=None,
    )


def _of_the_gpus_session(
    evaluation: Evaluation, job: Job, built: BuildOutcome, environment: Environment, seconds: float
) -> Evaluation:
    """The simulator's evaluation as the answer to what the session asked. Its seed remains, which repeats it on the
    simulator."""
    return replace(
        evaluation,
        config=job.config,
        environment=environment,
        builds=built.builds,
        duration_s=built.seconds + seconds,
        stages_s={"build": built.seconds, "simulator": seconds},
        decided_by="simulator",
    )


def _remark(evaluation: Evaluation) -> str | None:
    failure, verdict = evaluation.failure, evaluation.verdict
    if failure is None or not verdict.blames_solution:
        return None
    if verdict not in _SAID and not any(kind in failure.reason for kind in FINDING_KINDS):
        return None
    where = f"{failure.case}: " if failure.case else ""
    return f"the simulator says {verdict.value}: {where}{failure.reason}"
