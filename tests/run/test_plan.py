"""What a resumed run keeps, and what failed last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.model.config import Config, CorrectnessConfig
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee.job import make_job
from harness.run.plan import failed_last, plan, why_anew
from harness.store.entry import Entry, entry_of
from harness.store.index import Index
from harness.workspace.selection import Task, select_tasks
from harness.workspace.workspace import Workspace
from tests.examples import environment, failed, passed, sim_environment
from tests.workspace.made import made_workspace
from tests.workspace.test_problem import SOURCE


class Remembered:
    """An index over a list, oldest first."""

    sanitized_fault = Index.sanitized_fault

    def __init__(self, *evaluations: Evaluation) -> None:
        self._entries = [entry_of(evaluation) for evaluation in evaluations]
        self._evaluations = {evaluation.id: evaluation for evaluation in evaluations}

    def entries(self, problem: str, solution: str, backend: str | None = None) -> list[Entry]:
        wanted = (problem, solution, backend)
        return [entry for entry in self._entries if (entry.problem, entry.solution, entry.backend) == wanted]

    def latest(self, problem: str, solution: str, backend: str | None = None) -> Entry | None:
        return next(reversed(self.entries(problem, solution, backend)), None)

    def evaluation(self, name: str) -> Evaluation:
        return self._evaluations[name]

    def names(self) -> set[tuple[str, str]]:
        return {(entry.problem, entry.solution) for entry in self._entries}

    def latest_by_key(self, keys: Sequence[str]) -> dict[str, Entry]:
        return {entry.key: entry for entry in self._entries if entry.key in keys}


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, "cases"),
        ({"verdict": Verdict.HARNESS_ERROR, "failure": failed("x").failure}, "failed"),
        ({"config": Config(correctness=CorrectnessConfig(seeds=9))}, "settings"),
        ({"environment": environment(torch="2.6.0")}, "environment"),
        ({"solution": None}, "files"),
        (None, "no result"),
    ],
)
def test_why_nothing_is_kept(workspace: Workspace, changed: dict[str, Any] | None, word: str) -> None:
    task = select_tasks(workspace)[0]
    found = evaluated(task)
    if changed is None:
        known = Remembered()
    else:
        solution = replace(found.solution, sha256="0" * 64) if "solution" in changed else found.solution
        known = Remembered(replace(found, **{**changed, "solution": solution}))
    assert word in why_anew(task, Config(), found.environment, known)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for problem in ("pool", "relu"):
        made_workspace(tmp_path, problem, SOURCE, {name: f"class ModelNew: '{name}'" for name in ("plain", "tiled")})
    return Workspace(tmp_path)


def evaluated(
    task: Task,
    verdict: Verdict = Verdict.PASSED,
    config: Config | None = None,
    where: Environment | None = None,
) -> Evaluation:
    """The task's evaluation as a run would have recorded it."""
    job = make_job("run", task, config or Config(), 1)
    facts = {
        "problem": job.problem_ref,
        "solution": job.solution_ref,
        "cases": job.cases,
        "config": job.config,
        "environment": where or environment(),
    }
    return passed(**facts) if verdict.passed else failed(verdict=verdict, checks=(), **facts)


def kept(tasks: Sequence[Task], *known: Evaluation, among: Sequence[Environment] = (environment(),)) -> list[str]:
    found = plan(tasks, Config(), among, Remembered(*known))
    assert [one.task for one in found] == list(tasks)
    return [f"{one.task.problem.name}/{one.task.solution.name}" for one in found if one.result]


def test_what_was_evaluated_is_kept(workspace: Workspace) -> None:
    tasks = select_tasks(workspace)
    assert kept(tasks, evaluated(tasks[1]), evaluated(tasks[2])) == ["pool/tiled", "relu/plain"]


def test_a_result_of_any_machine_of_the_cluster_is_kept(workspace: Workspace) -> None:
    tasks, there = select_tasks(workspace), environment(driver="590.1")
    known = evaluated(tasks[1], where=there), evaluated(tasks[2])
    assert kept(tasks, *known, among=[environment(), there]) == ["pool/tiled", "relu/plain"]


@pytest.mark.parametrize("file", ["solutions/pool/plain/solution.py", "problems/pool/problem.py"])
def test_an_edited_file_is_evaluated_anew(workspace: Workspace, file: str) -> None:
    before = [evaluated(task) for task in select_tasks(workspace)]
    with (workspace.root / file).open("a") as source:
        source.write("\n# better")
    edited = {"solutions": ["pool/plain"], "problems": ["pool/plain", "pool/tiled"]}[file.split("/")[0]]
    tasks = select_tasks(workspace)
    everything = ["pool/plain", "pool/tiled", "relu/plain", "relu/tiled"]
    assert kept(tasks, *before) == [name for name in everything if name not in edited]


def test_another_config_environment_version_or_case_is_another_question(workspace: Workspace) -> None:
    (task,) = select_tasks(workspace, ["pool"], ["plain"])
    others = [
        evaluated(task, config=Config(correctness=CorrectnessConfig(seeds=1))),
        evaluated(task, where=environment(driver="581.00")),
        evaluated(task, where=environment(harness="0.0.9")),
        evaluated(replace(task, cases=("small",))),
    ]
    assert kept([task], *others) == []


def test_another_commit_is_no_other_question(workspace: Workspace) -> None:
    (task,) = select_tasks(workspace, ["pool"], ["plain"])
    assert kept([task], evaluated(task, where=environment(commit="000000000000"))) == ["pool/plain"]


@pytest.mark.parametrize(
    ("verdict", "is_kept"),
    [
        (Verdict.WRONG_VALUES, True),
        (Verdict.COMPILE_ERROR, True),
        (Verdict.UNSUPPORTED, True),
        (Verdict.TIMEOUT, True),
        (Verdict.HARNESS_ERROR, False),
    ],
)
def test_every_verdict_is_a_result_but_our_own_error(workspace: Workspace, verdict: Verdict, is_kept: bool) -> None:
    (task,) = select_tasks(workspace, ["pool"], ["plain"])
    assert kept([task], evaluated(task, verdict)) == ["pool/plain"] * is_kept


def test_only_what_failed_last_is_found(workspace: Workspace) -> None:
    tasks = select_tasks(workspace)
    plain, tiled, mended, never = tasks
    known = Remembered(
        evaluated(plain, Verdict.WRONG_VALUES),
        evaluated(tiled),
        evaluated(mended, Verdict.TIMEOUT),
        evaluated(mended),
    )
    assert failed_last(tasks, environment(), known) == [plain]
    assert never not in failed_last(tasks, environment(), known)


def test_a_failure_that_is_expected_is_none_and_a_pass_that_is_not_is_one(workspace: Workspace) -> None:
    for name in ("plain", "tiled"):
        (workspace.root / "solutions" / "pool" / name / "solution.yaml").write_text("expected_verdict: wrong_values")
    plain, tiled = select_tasks(workspace, ["pool"])
    known = Remembered(evaluated(plain, Verdict.WRONG_VALUES), evaluated(tiled))
    assert failed_last([plain, tiled], environment(), known) == [tiled]


@pytest.mark.parametrize(
    ("later", "is_failed"),
    [("nothing", True), ("a sanitized pass", False), ("other files", False), ("another backend", False)],
)
def test_a_fault_that_a_look_at_every_access_found_has_failed_last(
    workspace: Workspace, later: str, is_failed: bool
) -> None:
    """The newest evaluation passes without that look, so it can't have seen the fault."""
    (task,) = select_tasks(workspace, ["pool"], ["plain"])
    checked, simulated = Config(CorrectnessConfig(sanitize=True)), sim_environment()
    found = replace(evaluated(task, Verdict.MEMORY_ERROR, checked, simulated), id="found")
    newest = replace(evaluated(task, where=simulated), id="newest")
    if later == "other files":
        newest = replace(newest, solution=replace(newest.solution, sha256="ab" * 32))
    between = [replace(evaluated(task, config=checked, where=simulated), id="fine")] * (later == "a sanitized pass")
    elsewhere = [replace(evaluated(task), id="elsewhere")] * (later == "another backend")
    asked = environment() if elsewhere else simulated
    assert failed_last([task], asked, Remembered(found, *between, newest, *elsewhere)) == [task] * is_failed
