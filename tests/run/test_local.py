"""A run's stages: what needs a lane and what doesn't, what is recorded, what is kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.builder.build import BuildOutcome
from harness.builder.workers import Workers
from harness.errors import MachineError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee.job import Job
from harness.referee.outage import Outage
from harness.run import local
from harness.run.cascade import Cascade, Simulated
from harness.run.cores import Cores
from harness.run.lane import Assignment
from harness.run.local import Evaluating, Lanes, run_tasks
from harness.run.threads import Shape
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import TextsNotBuilt
from harness.sandbox.wire.extension_text import ExtensionText
from harness.store.journal import Journal, read_journals
from harness.workspace.selection import select_tasks
from tests.examples import environment, failed, passed, timing
from tests.wording import tells
from tests.workspace.made import made_workspace
from tests.workspace.test_problem import SOURCE


class ScriptedLane:
    """Passes everything, and writes down what it was given."""

    def __init__(self) -> None:
        self.judged: list[str] = []
        self.is_stuck_after: str | None = None
        self.is_closed = self.is_open = False
        self.last: list[bool] = []

    def open(self, config: Config, environment: Environment) -> None:
        self.is_open = True

    def evaluate(self, assignment: Assignment, notify: Any) -> Evaluation:
        notify("checking full 1/1")
        self.judged.append(assignment.job.solution.name)
        self.last.append(assignment.is_last)
        return passed(assignment.job.solution.name, id=assignment.job.solution.name, timing=timing())

    def examine(self) -> None:
        if self.judged[-1] == self.is_stuck_after:
            raise MachineError("the GPU didn't finish a small kernel")

    def close(self) -> None:
        self.is_closed = True


def build(job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
    if "refused" in job.solution.name:
        return BuildOutcome((), SolutionFailed(Verdict.COMPILE_ERROR, "expected ';'"), 2.5)
    return BuildOutcome((), None, 1.5)


def lanes_of(tmp_path: Path, cores: Cores | None, **lanes: ScriptedLane) -> Lanes:
    host: Any = SimpleNamespace(name="cuda")
    return Lanes(lanes, Workers(host, tmp_path), cores, environment())


class Run:
    """Solutions of a workspace go through the stages, with scripted builds and lanes."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._patch = patch
        self.told: list[tuple[str, str]] = []

    def __call__(
        self,
        *lanes: ScriptedLane,
        solutions: Sequence[str] = ("a_good", "b_refused", "c_good"),
        build: Callable[[Job, Workers, Sequence[ExtensionText]], BuildOutcome] = build,
        cores: Cores | None = None,
        cascade: Cascade | None = None,
        shape: Shape = Shape(1, 1, 4),
    ) -> Generator[Evaluation, None, None]:
        self._patch.setattr(local, "build_job", build)
        workspace = made_workspace(self._folder, "pool", SOURCE, dict.fromkeys(solutions, "class ModelNew: ..."))
        named = lanes_of(self._folder, cores, **dict(zip(("one", "two"), lanes, strict=False)))
        journal = Journal(self._folder / "results", "run")
        stages = Evaluating(named, "run", Config(), 1, self._observe, journal, cascade)
        return run_tasks(select_tasks(workspace), stages, shape)

    def _observe(self, job: Job, what: str) -> None:
        self.told.append((job.solution.name, what))

    def kept(self) -> dict[str, Evaluation]:
        return {one.solution.name: one for one in read_journals(self._folder / "results")}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(tmp_path, monkeypatch)


def test_what_the_compiler_refuses_is_a_result_without_a_lane(run: Run) -> None:
    lane = ScriptedLane()
    found = {}
    for evaluation in run(lane):
        found[evaluation.solution.name] = evaluation
        assert evaluation.id in [kept.id for kept in run.kept().values()]  # before it is shown
    assert {name: e.verdict for name, e in found.items()} == {
        "a_good": Verdict.PASSED,
        "b_refused": Verdict.COMPILE_ERROR,
        "c_good": Verdict.PASSED,
    }
    assert found["b_refused"].stages_s == {"build": 2.5}
    assert lane.judged == ["a_good", "c_good"]
    assert lane.last == [False, True]
    assert lane.is_open
    assert lane.is_closed
    assert [what for name, what in run.told if name == "a_good"] == ["building", "built", "checking full 1/1"]
    assert [what for name, what in run.told if name == "b_refused"] == ["building"]


def test_a_device_that_is_stuck_ends_the_run_when_its_results_are_safe(run: Run) -> None:
    lane = ScriptedLane()
    lane.is_stuck_after = "a_good"
    with pytest.raises(MachineError, match="small kernel"):
        list(run(lane))
    assert lane.judged == ["a_good"]
    assert "a_good" in run.kept()
    assert lane.is_closed


def test_of_several_lanes_the_one_is_named(run: Run) -> None:
    list(run(ScriptedLane(), ScriptedLane(), shape=Shape(1, 2, 4)))
    checking = {what for _, what in run.told if "checking" in what}
    assert checking <= {"checking full 1/1 on one", "checking full 1/1 on two"}


def test_a_lane_closes_also_when_nobody_reads_on(run: Run) -> None:
    lane = ScriptedLane()
    evaluations = run(lane)
    next(evaluations)
    evaluations.close()
    assert lane.is_closed


class CountingLane(ScriptedLane):
    def evaluate(self, assignment: Assignment, notify: Any) -> Evaluation:
        self.threads = torch.get_num_threads()
        return super().evaluate(assignment, notify)


@pytest.mark.parametrize(("cores", "threads"), [(None, 2), (Cores(None, None, 3), 4)])
def test_a_referee_that_shares_its_cores_with_compilers_takes_half_of_the_threads(
    run: Run, cores: Cores | None, threads: int
) -> None:
    lane, before = CountingLane(), torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        list(run(lane, cores=cores))
        assert (lane.threads, torch.get_num_threads()) == (threads, 4)
    finally:
        torch.set_num_threads(before)


TEXT = ExtensionText("relu", ("int relu();",))


class LazyLane(ScriptedLane):
    """Comes to a text until one was built so often."""

    def __init__(self, until: int | None) -> None:
        super().__init__()
        self.until = until
        self.compilers: list[str | None] = []

    def evaluate(self, assignment: Assignment, notify: Any) -> Evaluation:
        self.compilers.append(assignment.built.compilers)
        self.judged.append(assignment.job.solution.name)
        if assignment.built.compilers and len(self.compilers) != self.until:
            raise TextsNotBuilt((TEXT,))
        return super().evaluate(assignment, notify)


def evaluated_lazily(run: Run, lane: LazyLane) -> list[tuple[ExtensionText, ...]]:
    """What was wanted at each build."""
    wanted: list[tuple[ExtensionText, ...]] = []

    def build_lazily(job: Job, workers: Workers, texts: Sequence[ExtensionText]) -> BuildOutcome:
        wanted.append(tuple(texts))
        return BuildOutcome((), None, 1.0, compilers="these")

    (found,) = run(lane, solutions=["a_good"], build=build_lazily)
    assert found.verdict is Verdict.PASSED
    return wanted


def test_what_a_lane_comes_to_is_built_while_the_lane_is_free(run: Run) -> None:
    lane = LazyLane(until=2)
    assert evaluated_lazily(run, lane) == [(), (TEXT,)]
    assert lane.compilers == ["these", "these"]


def test_texts_without_end_are_built_by_the_worker_at_last(run: Run) -> None:
    lane = LazyLane(until=None)
    evaluated_lazily(run, lane)
    assert lane.compilers == ["these"] * 4 + [None]


DIVIDED = Cores((frozenset({0, 1}),), frozenset(range(2, 16)), 16)
SHARED = Cores(None, None, 3)


class BrokenLane(ScriptedLane):
    """The machine fails it at so many tries."""

    def __init__(self, outages: int) -> None:
        super().__init__()
        self.outages = outages

    def evaluate(self, assignment: Assignment, notify: Any) -> Evaluation:
        if len(assignment.job.outages) < self.outages:
            self.judged.append("outage")
            raise Outage("the process that workers are forked from has ended")
        return super().evaluate(assignment, notify)


def test_what_the_machine_ended_is_built_and_judged_again(run: Run) -> None:
    lane = BrokenLane(1)
    (found,) = run(lane, solutions=["a_good"])
    assert found.verdict is Verdict.PASSED
    assert lane.judged == ["outage", "a_good"]
    assert [what for _, what in run.told if what.startswith("trying again")] != []


def test_a_build_that_the_machine_ends_twice_is_our_error_and_said_once(run: Run) -> None:
    built: list[str] = []

    def no_compiler(job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
        built.append(job.solution.name)
        return BuildOutcome((), MachineError("the C++ compiler doesn't work"), 0.5)

    (found,) = run(ScriptedLane(), solutions=["a_good"], build=no_compiler)
    assert built == ["a_good", "a_good"]
    assert found.verdict is Verdict.HARNESS_ERROR
    assert tells(found.remarks[0], "try 1", "compiler")
    assert [one.verdict for one in run.kept().values()] == [Verdict.HARNESS_ERROR]


@pytest.mark.parametrize("alternates", [False, True])
def test_a_record_says_if_another_was_built_meanwhile(
    run: Run, monkeypatch: pytest.MonkeyPatch, alternates: bool
) -> None:
    is_building, is_judged = threading.Event(), threading.Event()

    def build_last(job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
        if job.solution.name == "c_good" and not alternates:
            is_building.set()
            assert is_judged.wait(20)
        return build(job, workers, wanted)

    class WaitingLane(ScriptedLane):
        def evaluate(self, assignment: Assignment, notify: Any) -> Evaluation:
            assert alternates or is_building.wait(20)
            is_judged.set()
            return super().evaluate(assignment, notify)

    monkeypatch.setattr(local, "keep_thread_to", lambda *given, **more: None)
    evaluations = run(WaitingLane(), build=build_last, cores=DIVIDED, shape=Shape(1, 1, 8, alternates))
    found = {one.solution.name: one for one in evaluations}
    assert [any("meanwhile" in one for one in found[name].remarks) for name in ("a_good", "c_good")] == [
        not alternates,
        False,
    ]
    assert {name: one.remarks for name, one in run.kept().items()} == {name: one.remarks for name, one in found.items()}


def stages_of(lanes: Lanes) -> Evaluating:
    return Evaluating(lanes, "run", Config(), 1, lambda job, what: None, Journal(Path("unused"), "run"))


def test_the_record_says_that_compilers_were_at_work(tmp_path: Path) -> None:
    stages = stages_of(lanes_of(tmp_path, DIVIDED))
    before, remark = stages.overlapped(passed(timing=timing(), remarks=("before",))).remarks
    assert before == "before"
    assert "built meanwhile" in remark
    assert "14 cores" in remark


def test_nothing_is_said_where_nothing_was_timed_or_cores_were_not_divided(tmp_path: Path) -> None:
    assert stages_of(lanes_of(tmp_path, DIVIDED)).overlapped(passed()).remarks == ()
    for cores in (SHARED, None):
        assert stages_of(lanes_of(tmp_path, cores)).overlapped(passed(timing=timing())).remarks == ()


class ScriptedCascade(Cascade):
    """Ends what is named 'wrong', and sees a race in the rest."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def judge(self, job: Job, built: BuildOutcome, environment: Environment) -> Simulated:
        self.asked.append(job.solution.name)
        if "wrong" in job.solution.name:
            return Simulated(2.0, failed(job.solution.name, id=job.solution.name, decided_by="simulator"))
        return Simulated(2.0, remark="the simulator says nondeterministic")


def evaluated_cpu_first(run: Run, *names: str) -> tuple[dict[str, Evaluation], list[str], list[str]]:
    """The evaluations, whom the simulator was asked about, and whom a GPU."""
    lane, cascade = ScriptedLane(), ScriptedCascade()
    evaluations = run(lane, solutions=names, cascade=cascade, shape=Shape(2, 1, 8))
    return {one.solution.name: one for one in evaluations}, cascade.asked, lane.judged


def test_what_the_simulator_ends_never_reaches_the_gpu_and_the_record_says_who_decided(run: Run) -> None:
    found, asked, on_gpu = evaluated_cpu_first(run, "a_wrong", "b_refused", "c_good")
    assert {name: one.decided_by for name, one in found.items()} == {
        "a_wrong": "simulator",
        "b_refused": "build",
        "c_good": "device",
    }
    assert "a_wrong" in asked
    assert on_gpu == ["c_good"]


def test_a_fault_that_the_simulator_saw_is_said_where_the_gpu_decides(run: Run) -> None:
    found, asked, _ = evaluated_cpu_first(run, "a_good", "c_good")
    first = found[asked[0]]
    assert "the simulator says nondeterministic" in first.remarks
    assert first.stages_s["simulator"] == 2.0


def test_one_solution_alone_goes_to_the_gpu_at_once(run: Run) -> None:
    found, asked, on_gpu = evaluated_cpu_first(run, "a_wrong")
    assert (asked, on_gpu) == ([], ["a_wrong"])
    assert found["a_wrong"].decided_by == "device"


def test_without_a_cascade_nothing_is_said_of_who_decided(run: Run) -> None:
    assert {one.decided_by for one in run(ScriptedLane())} == {None}


def test_few_cores_make_builds_and_measurements_alternate(tmp_path: Path) -> None:
    shape = lanes_of(tmp_path, SHARED, only=ScriptedLane()).shape(50, None)
    assert (shape.alternates, shape.builders, shape.lanes) == (True, 2, 1)
    assert lanes_of(tmp_path, DIVIDED, only=ScriptedLane()).shape(50, None).alternates is False


def test_as_many_builds_as_asked_for_and_never_more_than_tasks(tmp_path: Path) -> None:
    lanes = lanes_of(tmp_path, DIVIDED, only=ScriptedLane())
    assert [lanes.shape(50, jobs).builders for jobs in (None, 1, 5, 40)] == [7, 1, 5, 40]
    assert lanes.shape(2, 40).builders == 2
    assert lanes.shape(50, 40).ahead == 40
