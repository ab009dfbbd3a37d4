"""A run's stages: what needs a lane and what doesn't, what is recorded, what is kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
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
from harness.workspace.workspace import Workspace
from tests.examples import environment, failed, passed, timing
from tests.wording import tells
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


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "problems" / "pool").mkdir(parents=True)
    (tmp_path / "problems" / "pool" / "problem.py").write_text(SOURCE)
    for name in ("a_good", "b_refused", "c_good"):
        (tmp_path / "solutions" / "pool" / name).mkdir(parents=True)
        (tmp_path / "solutions" / "pool" / name / "solution.py").write_text("class ModelNew: ...")
    return Workspace(tmp_path)


def build(job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
    if "refused" in job.solution.name:
        return BuildOutcome((), SolutionFailed(Verdict.COMPILE_ERROR, "expected ';'"), 2.5)
    return BuildOutcome((), None, 1.5)


def lanes_of(tmp_path: Path, cores: Cores | None, **lanes: ScriptedLane) -> Lanes:
    host: Any = SimpleNamespace(name="cuda")
    return Lanes(lanes, Workers(host, tmp_path), cores, environment())


def stages_of(lanes: Lanes, observe: Any = lambda job, what: None, results: Path | None = None) -> Evaluating:
    return Evaluating(lanes, "run", Config(), 1, observe, Journal(results or Path("unused"), "run"))


def test_what_the_compiler_refuses_is_a_result_without_a_lane(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "build_job", build)
    lane, told = ScriptedLane(), []
    lanes = lanes_of(tmp_path, None, only=lane)
    stages = stages_of(lanes, lambda job, what: told.append((job.solution.name, what)), tmp_path / "results")
    found = {}
    for evaluation in run_tasks(select_tasks(workspace), stages, lanes, Shape(1, 1, 4)):
        found[evaluation.solution.name] = evaluation
        assert evaluation.id in [kept.id for kept in read_journals(tmp_path / "results")]  # before it is shown
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
    assert [what for name, what in told if name == "a_good"] == ["building", "built", "checking full 1/1"]
    assert [what for name, what in told if name == "b_refused"] == ["building"]


def test_a_device_that_is_stuck_ends_the_run_when_its_results_are_safe(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "build_job", build)
    lane = ScriptedLane()
    lane.is_stuck_after = "a_good"
    lanes = lanes_of(tmp_path, None, only=lane)
    stages = stages_of(lanes, results=tmp_path / "results")
    with pytest.raises(MachineError, match="small kernel"):
        list(run_tasks(select_tasks(workspace), stages, lanes, Shape(1, 1, 4)))
    assert lane.judged == ["a_good"]
    assert "a_good" in [kept.solution.name for kept in read_journals(tmp_path / "results")]
    assert lane.is_closed


def test_of_several_lanes_the_one_is_named(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "build_job", build)
    told: set[str] = set()
    lanes = lanes_of(tmp_path, None, one=ScriptedLane(), two=ScriptedLane())
    stages = stages_of(lanes, lambda job, what: told.add(what), tmp_path / "results")
    list(run_tasks(select_tasks(workspace), stages, lanes, Shape(1, 2, 4)))
    assert {what for what in told if "checking" in what} <= {"checking full 1/1 on one", "checking full 1/1 on two"}


def test_a_lane_closes_also_when_nobody_reads_on(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "build_job", build)
    lane = ScriptedLane()
    lanes = lanes_of(tmp_path, None, only=lane)
    stages = stages_of(lanes, results=tmp_path / "results")
    evaluations = run_tasks(select_tasks(workspace), stages, lanes, Shape(1, 1, 4))
    next(evaluations)
    evaluations.close()
    assert lane.is_closed


class CountingLane(ScriptedLane):
    def evaluate(self, assignment: Assignment, notify: Any) -> Evaluation:
        self.threads = torch.get_num_threads()
        return super().evaluate(assignment, notify)


@pytest.mark.parametrize(("cores", "threads"), [(None, 2), (Cores(None, None, 3), 4)])
def test_a_referee_that_shares_its_cores_with_compilers_takes_half_of_the_threads(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: Cores | None, threads: int
) -> None:
    monkeypatch.setattr(local, "build_job", build)
    lane, before = CountingLane(), torch.get_num_threads()
    lanes = lanes_of(tmp_path, cores, only=lane)
    torch.set_num_threads(4)
    try:
        list(run_tasks(select_tasks(workspace), stages_of(lanes, results=tmp_path / "results"), lanes, Shape(1, 1, 4)))
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


def evaluated_lazily(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lane: LazyLane
) -> list[tuple[ExtensionText, ...]]:
    """What was wanted at each build."""
    wanted: list[tuple[ExtensionText, ...]] = []

    def build_lazily(job: Job, workers: Workers, texts: Sequence[ExtensionText]) -> BuildOutcome:
        wanted.append(tuple(texts))
        return BuildOutcome((), None, 1.0, compilers="these")

    monkeypatch.setattr(local, "build_job", build_lazily)
    lanes = lanes_of(tmp_path, None, only=lane)
    tasks = [task for task in select_tasks(workspace) if task.solution.name == "a_good"]
    (found,) = run_tasks(tasks, stages_of(lanes, results=tmp_path / "results"), lanes, Shape(1, 1, 4))
    assert found.verdict is Verdict.PASSED
    return wanted


def test_what_a_lane_comes_to_is_built_while_the_lane_is_free(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = LazyLane(until=2)
    assert evaluated_lazily(workspace, tmp_path, monkeypatch, lane) == [(), (TEXT,)]
    assert lane.compilers == ["these", "these"]


def test_texts_without_end_are_built_by_the_worker_at_last(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = LazyLane(until=None)
    evaluated_lazily(workspace, tmp_path, monkeypatch, lane)
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


def test_what_the_machine_ended_is_built_and_judged_again(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "build_job", build)
    lane, told = BrokenLane(1), []
    lanes = lanes_of(tmp_path, None, only=lane)
    stages = stages_of(lanes, lambda job, what: told.append(what), tmp_path / "results")
    tasks = select_tasks(workspace, solutions=["a_good"])
    (found,) = run_tasks(tasks, stages, lanes, Shape(1, 1, 4))
    assert found.verdict is Verdict.PASSED
    assert lane.judged == ["outage", "a_good"]
    assert [what for what in told if what.startswith("trying again")] != []


def test_a_build_that_the_machine_ends_twice_is_our_error_and_said_once(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []

    def no_compiler(job: Job, workers: Workers, wanted: Sequence[ExtensionText]) -> BuildOutcome:
        built.append(job.solution.name)
        return BuildOutcome((), MachineError("the C++ compiler doesn't work"), 0.5)

    monkeypatch.setattr(local, "build_job", no_compiler)
    lanes = lanes_of(tmp_path, None, only=ScriptedLane())
    tasks = select_tasks(workspace, solutions=["a_good"])
    (found,) = run_tasks(tasks, stages_of(lanes, results=tmp_path / "results"), lanes, Shape(1, 1, 4))
    assert built == ["a_good", "a_good"]
    assert found.verdict is Verdict.HARNESS_ERROR
    assert tells(found.remarks[0], "try 1", "compiler")
    assert [one.verdict for one in read_journals(tmp_path / "results")] == [Verdict.HARNESS_ERROR]


@pytest.mark.parametrize("alternates", [False, True])
def test_a_record_says_if_another_was_built_meanwhile(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alternates: bool
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

    monkeypatch.setattr(local, "build_job", build_last)
    monkeypatch.setattr(local, "keep_thread_to", lambda *given, **more: None)
    lanes = lanes_of(tmp_path, DIVIDED, only=WaitingLane())
    stages = stages_of(lanes, results=tmp_path / "results")
    shape = Shape(1, 1, 8, alternates)
    found = {one.solution.name: one for one in run_tasks(select_tasks(workspace), stages, lanes, shape)}
    assert [any("meanwhile" in one for one in found[name].remarks) for name in ("a_good", "c_good")] == [
        not alternates,
        False,
    ]
    kept = {one.solution.name: one.remarks for one in read_journals(tmp_path / "results")}
    assert kept == {name: one.remarks for name, one in found.items()}


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


def evaluated_cpu_first(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: Sequence[str]
) -> tuple[dict[str, Evaluation], list[str], list[str]]:
    """The evaluations, whom the simulator was asked about, and whom a GPU."""
    monkeypatch.setattr(local, "build_job", build)
    for name in names:
        folder = workspace.root / "solutions" / "pool" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "solution.py").write_text("class ModelNew: ...")
    lane, cascade = ScriptedLane(), ScriptedCascade()
    lanes = lanes_of(tmp_path, None, only=lane)
    journal = Journal(tmp_path / "results", "run")
    stages = Evaluating(lanes, "run", Config(), 1, lambda job, what: None, journal, cascade)
    tasks = [task for task in select_tasks(workspace) if task.solution.name in names]
    found = {one.solution.name: one for one in run_tasks(tasks, stages, lanes, Shape(2, 1, 8))}
    return found, cascade.asked, lane.judged


def test_what_the_simulator_ends_never_reaches_the_gpu_and_the_record_says_who_decided(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("a_wrong", "b_refused", "c_good")
    found, asked, on_gpu = evaluated_cpu_first(workspace, tmp_path, monkeypatch, names)
    assert {name: one.decided_by for name, one in found.items()} == {
        "a_wrong": "simulator",
        "b_refused": "build",
        "c_good": "device",
    }
    assert "a_wrong" in asked
    assert on_gpu == ["c_good"]


def test_a_fault_that_the_simulator_saw_is_said_where_the_gpu_decides(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, asked, _ = evaluated_cpu_first(workspace, tmp_path, monkeypatch, ("a_good", "c_good"))
    first = found[asked[0]]
    assert "the simulator says nondeterministic" in first.remarks
    assert first.stages_s["simulator"] == 2.0


def test_one_solution_alone_goes_to_the_gpu_at_once(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, asked, on_gpu = evaluated_cpu_first(workspace, tmp_path, monkeypatch, ("a_wrong",))
    assert (asked, on_gpu) == ([], ["a_wrong"])
    assert found["a_wrong"].decided_by == "device"


def test_without_a_cascade_nothing_is_said_of_who_decided(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "build_job", build)
    lanes = lanes_of(tmp_path, None, only=ScriptedLane())
    stages = stages_of(lanes, results=tmp_path / "results")
    assert {one.decided_by for one in run_tasks(select_tasks(workspace), stages, lanes, Shape(1, 1, 4))} == {None}


def test_few_cores_make_builds_and_measurements_alternate(tmp_path: Path) -> None:
    shape = lanes_of(tmp_path, SHARED, only=ScriptedLane()).shape(50, None)
    assert (shape.alternates, shape.builders, shape.lanes) == (True, 2, 1)
    assert lanes_of(tmp_path, DIVIDED, only=ScriptedLane()).shape(50, None).alternates is False


def test_as_many_builds_as_asked_for_and_never_more_than_tasks(tmp_path: Path) -> None:
    lanes = lanes_of(tmp_path, DIVIDED, only=ScriptedLane())
    assert [lanes.shape(50, jobs).builders for jobs in (None, 1, 5, 40)] == [7, 1, 5, 40]
    assert lanes.shape(2, 40).builders == 2
    assert lanes.shape(50, 40).ahead == 40
