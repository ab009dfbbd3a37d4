"""Evaluations on this machine: builds side by side, one solution at a time per device, each result kept at once."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

import torch

from harness.builder.build import BuildOutcome, CompilerRefused
from harness.builder.nvcc_check import Opinions, ask_nvcc
from harness.builder.second_opinion import of_build, of_evaluation, with_remarks
from harness.builder.workers import Workers
from harness.devices import Nvcc, find_nvcc
from harness.model.config import Config, NvccConfig
from harness.model.environment import Environment
from harness.model.evaluation import DecidingStage, Evaluation
from harness.referee.evaluation import evaluate
from harness.referee.job import Job, make_job
from harness.referee.outage import Outage
from harness.run.building import build_job, compile_ahead
from harness.run.cascade import Cascade, Simulated, with_simulated
from harness.run.cores import Cores, keep_thread_to
from harness.run.executor import Answer, Ticket
from harness.run.lane import Assignment, Lane
from harness.run.threads import Shape, Threads, run_threads
from harness.sandbox.process import TextsNotBuilt
from harness.store.journal import Journal
from harness.workspace.selection import Task

_WANTED_BY_META_TENSORS = "torch.fx.experimental.symbolic_shapes"
"""It brings sympy in, which takes half a second."""

Observer = Callable[[Job, str], None]
"""A function that is told what happens to a job, in a few words."""

_MOST_RETURNS = 4
"""The number of times that a solution gives its device back while what it came to is built."""
_AHEAD = 16
"""Built solutions that may wait for a device: enough to keep it busy, and little to hold in memory."""


@dataclass(frozen=True)
class Lanes:
    """The executors of a run's evaluations: its lanes by name, the workers that build, and how the cores are divided
    (None: shared)."""

    by_name: Mapping[str, Lane]
    builders: Workers
    cores: Cores | None
    environment: Environment

    def shape(self, tasks: int, jobs: int | None) -> Shape:
        """Say how wide a run is for so many tasks; `jobs` builds run at once, by default half of the builds'
        cores."""
        of_builds = self.cores.builds if self.cores else None
        usable = len(of_builds) if of_builds else self.cores.usable if self.cores else os.cpu_count() or 2
        builders = max(1, min(jobs or max(2, usable // 2), tasks))
        ahead = max(_AHEAD, builders, 2 * len(self.by_name))
        alternates = self.cores is not None and of_builds is None
        return Shape(builders, min(len(self.by_name), max(1, tasks)), ahead, alternates)


@dataclass(frozen=True)
class Built:
    """A build, and what nvcc says, or will say, of it where it is for the simulator."""

    outcome: BuildOutcome
    opinions: Opinions | Future[Opinions] | None = None


class NvccBeside:
    """Opinions on what is built for the simulator. Checks have a lower priority than what is judged meanwhile."""

    def __init__(self, nvcc: Nvcc, workers: Workers, config: NvccConfig) -> None:
        self._nvcc = nvcc
        self._workers = workers
        self._config = config
        at_once = max(1, (os.cpu_count() or 2) // 2)
        self._threads = ThreadPoolExecutor(at_once, initializer=keep_thread_to, initargs=(None, True))

    def begin(self, job: Job, built: BuildOutcome) -> Future[Opinions] | None:
        """Begin asking nvcc about a build that went well; None where it called none. The future raises Interrupted."""
        return self._threads.submit(self._ask, job, built) if built.calls else None

    def settled(self, job: Job, built: BuildOutcome) -> tuple[BuildOutcome, Opinions]:
        """The build with what nvcc says of it, which is waited for, where it failed and nvcc may know better."""
        if not (isinstance(built.failed, CompilerRefused) and built.failed.nvcc_knows):
            return built, {}
        opinions = self._ask(job, built)
        return of_build(built, opinions), opinions

    def close(self) -> None:
        """Close it. What is under way ends by itself once the run is told to stop; what isn't is never begun."""
        self._threads.shutdown(cancel_futures=True)

    def _ask(self, job: Job, built: BuildOutcome) -> Opinions:
        folder, sha256 = job.solution.folder, job.solution_ref.sha256
        return ask_nvcc(self._nvcc, self._workers, self._config, built, folder, sha256)


@dataclass(eq=False)
class Evaluating:
    """The steps of a run on this machine."""

    lanes: Lanes
    run: str
    config: Config
    seed: int
    observe: Observer
    journal: Journal | None
    """None where others keep results, and know what is yet to come."""
    cascade: Cascade | None = None
    """The simulator that judges before a GPU; None where it doesn't."""

    def __post_init__(self) -> None:
        self._nvcc: NvccBeside | None = _nvcc_beside(self.lanes.builders, self.config.nvcc)
        self._counting = threading.Lock()
        self._left = self._begun = self._building = 0

    def tickets(self, tasks: Iterable[Task]) -> Iterator[Ticket]:
        """Make jobs of the tasks, and count them, those of a stream as they are taken: where one alone is left, it is
        in a hurry."""
        if isinstance(tasks, Sized):
            self._count(len(tasks))
        for task in tasks:
            if not isinstance(tasks, Sized):
                self._count(1)
            yield Ticket(make_job(self.run, task, self.config, self.seed), task.problem.sha256)

    def build(self, ticket: Ticket, is_on_device: bool = False) -> Answer:
        """Build; what fails to is an evaluation at once, which is kept and never waits for a device. `is_on_device`: a
        device waits for this build.

        Raises: Interrupted. Everything else becomes part of the outcome, and so of the record.
        """
        with self._counting:
            self._begun += 1
            self._building += 1
        try:
            answer = self._build(ticket, is_on_device)
            if answer.evaluation is not None:
                self._keep(answer.evaluation)
            return answer
        finally:
            with self._counting:
                self._building -= 1

    def judge(self, ticket: Ticket, lane: int) -> Answer:
        """Judge what was built; or say what it came to that wasn't, or of an outage: the device isn't held meanwhile.

        When the result is kept, the device is examined: on a GPU that is stuck every later result would be one of its.
        """
        with self._counting:
            before = -1 if self._building else self._begun
        answer = self._judge(ticket, lane)
        if (evaluation := answer.evaluation) is not None:
            evaluation = evaluation if self._begun == before else self.overlapped(evaluation)
            self._keep(evaluation)
            answer = Answer(evaluation=evaluation)
        try:
            list(self.lanes.by_name.values())[lane].examine()
        except Exception as error:  # the verdict counts nevertheless
            return replace(answer, fatal=error)
        return answer

    def _build(self, ticket: Ticket, is_on_device: bool) -> Answer:
        job = ticket.job
        self.observe(job, "building")
        outcome = build_job(job, self.lanes.builders, ticket.wanted)
        alternates = self.lanes.cores is not None and self.lanes.cores.builds is None
        if outcome.failed is None and not (is_on_device or alternates or self._is_alone()):
            outcome = compile_ahead(job, self.lanes.builders, outcome)
        if ticket.returns >= _MOST_RETURNS:  # it would go on for ever: from now on its workers build for themselves
            outcome = replace(outcome, compilers=None)
        opinions: Opinions = {}
        if self._nvcc is not None:
            outcome, opinions = self._nvcc.settled(job, outcome)
        if outcome.failed:
            try:
                evaluation = evaluate(job, None, self.lanes.environment, outcome)
            except Outage as outage:
                return self._again(job, outage)
            return Answer(evaluation=self._decided(with_remarks(evaluation, opinions), "build"))
        self.observe(job, "built")
        is_first = not (ticket.returns or job.outages)
        simulated = self._simulated(job, outcome) if is_first else ticket.simulated
        if simulated and simulated.certain:
            return Answer(evaluation=simulated.certain)
        built = Built(outcome, self._nvcc.begin(job, outcome) if self._nvcc else None)
        return Answer(built=built, simulated=simulated)

    def _judge(self, ticket: Ticket, lane: int) -> Answer:
        job, built = ticket.job, ticket.built
        assert isinstance(built, Built)
        name, chosen = list(self.lanes.by_name.items())[lane]
        where = f" on {name}" if len(self.lanes.by_name) > 1 else ""
        assignment = Assignment(job, built.outcome, self.lanes.environment, is_last=self._is_alone())
        try:
            evaluation = chosen.evaluate(assignment, lambda what: self.observe(job, what + where))
        except TextsNotBuilt as error:
            return Answer(wanted=error.texts)
        except Outage as outage:
            return self._again(job, outage)
        evaluation = self._decided(with_simulated(evaluation, ticket.simulated), "device")
        if built.opinions is None:
            return Answer(evaluation=evaluation)
        if isinstance(built.opinions, Future) and not built.opinions.done():
            self.observe(job, "waiting for nvcc")
        return Answer(evaluation=of_evaluation(evaluation, built.outcome, said(built.opinions)))

    def _again(self, job: Job, outage: Outage) -> Answer:
        self.observe(job, f"trying again: {outage}")
        return Answer(outages=(*job.outages, str(outage)))

    def overlapped(self, evaluation: Evaluation) -> Evaluation:
        """Say so in the record if compilers were at work while times were taken."""
        if evaluation.timing is None or self.lanes.cores is None or self.lanes.cores.builds is None:
            return evaluation
        count = len(self.lanes.cores.builds)
        remark = f"other solutions were being built meanwhile, on {count} cores apart from those that measured"
        return replace(evaluation, remarks=(*evaluation.remarks, remark))

    def _keep(self, evaluation: Evaluation) -> None:
        """Keep every evaluation in the journal before anybody hears of it."""
        if self.journal is not None:
            self.journal.append(evaluation)
        self._count(-1)

    def close(self) -> None:
        """Close it when nothing is built or measured any more."""
        if self._nvcc is not None:
            self._nvcc.close()

    def enter_preparer(self) -> None:
        if self.lanes.cores is not None:
            keep_thread_to(self.lanes.cores.builds, is_background=self.lanes.cores.builds is not None)

    def enter_lane(self, lane: int) -> None:
        if self.lanes.cores is not None and self.lanes.cores.lanes is not None:
            keep_thread_to(self.lanes.cores.lanes[lane])
        if self.lanes.builders.host.name == "sim":
            with contextlib.suppress(ImportError):
                importlib.import_module(_WANTED_BY_META_TENSORS)  # while the first build runs

    def open_lane(self, lane: int) -> None:
        """Enter a lane, and have it do what its first evaluation would wait for."""
        self.enter_lane(lane)
        list(self.lanes.by_name.values())[lane].open(self.config, self.lanes.environment)

    def _is_alone(self) -> bool:
        """Say whether no other task wants the device. On a machine of a cluster that isn't known."""
        return self.journal is not None and self._left < 2

    def _simulated(self, job: Job, outcome: BuildOutcome) -> Simulated | None:
        """Have the simulator judge it, but for one that is alone: no other wants the device."""
        if self.cascade is None or self._is_alone():
            return None
        self.observe(job, "on the simulator")
        return self.cascade.judge(job, outcome, self.lanes.environment)

    def _count(self, more: int) -> None:
        with self._counting:
            self._left += more

    def _decided(self, evaluation: Evaluation, stage: DecidingStage) -> Evaluation:
        return evaluation if self.cascade is None else replace(evaluation, decided_by=stage)


def run_tasks(tasks: Iterable[Task], evaluating: Evaluating, shape: Shape) -> Generator[Evaluation, None, None]:
    """Evaluate the tasks as builds come in; each result is in the journal before it is yielded.

    Ending the iteration early (Ctrl-C) ends the workers; what was found by then is safe, read or not.
    """
    lanes = evaluating.lanes
    with ExitStack() as stack:
        if lanes.cores is None:
            stack.enter_context(_half_the_threads())
        stack.callback(evaluating.close)
        for lane in lanes.by_name.values():
            stack.callback(lane.close)
        executors = [Threads(False, shape.builders, evaluating.enter_preparer, evaluating.build)]
        for number in range(shape.lanes):
            enter = evaluating.enter_lane if shape.alternates else evaluating.open_lane
            judge = partial(evaluating.judge, lane=number)
            executors.append(Threads(True, 1, partial(enter, number), judge))
        results = run_threads(evaluating.tickets(tasks), executors, shape, lanes.builders.stop)
        yield from stack.enter_context(contextlib.closing(results))


def said(opinions: Opinions | Future[Opinions]) -> Opinions:
    """Wait for what nvcc says. Raises: Interrupted."""
    return opinions.result() if isinstance(opinions, Future) else opinions


def _nvcc_beside(workers: Workers, config: NvccConfig) -> NvccBeside | None:
    """Make it for the simulator; None where there is no nvcc, where nobody wants to hear it, and on a GPU."""
    nvcc = find_nvcc() if workers.host.name == "sim" and config.enabled else None
    return NvccBeside(nvcc, workers, config) if nvcc else None


@contextlib.contextmanager
def _half_the_threads() -> Iterator[None]:
    """Leave cores to the compilers. Threads of one operation that wait for each other beside them spin: two on two busy
    cores compare 2^18 values in 24 ms, one does in 3."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, before // 2))
    try:
        yield
    finally:
        torch.set_num_threads(before)
