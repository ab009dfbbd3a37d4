"""The way of a gate: what to judge, its evaluations, a decision on each."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from harness.errors import UsageError
from harness.gate.evaluations import Evaluations, from_run, measure, other_settings, subject_of
from harness.gate.git import changed_since, folder_in_repository
from harness.gate.policy import Policy, load_policy
from harness.gate.ruling import Terms, judge, waiver_remarks
from harness.gate.runs import GateRun, read_run
from harness.gate.scope import find_missing, find_scope, select_changed, without_solutions
from harness.gate.snapshot import open_snapshot
from harness.gate.speed import other_environments
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.model.gate import GateReport, Judged
from harness.workspace.selection import Task, fits
from harness.workspace.workspace import Workspace, select_cases


@dataclass(frozen=True)
class GateRequest:
    """The request: what is to be judged, and by what; None and empty mean the default."""

    problems: Sequence[str] = ()
    solutions: Sequence[str] = ()
    snapshot: str | None = None
    policy: str | None = None
    correctness_only: bool = False
    changed_since: str | None = None
    from_run: str | None = None
    allow_other_environment: bool = False
    forbid_inconclusive: bool = False
    config: str | None = None
    results: Path | None = None
    written: Sequence[Path] = ()
    """Files that the answer is written to: that they changed says nothing about a solution."""


class TaskEvaluator(NamedTuple):
    """Evaluates on one machine; `say` is told what is done."""

    environment: Environment
    evaluate: Callable[[Sequence[Task]], Iterable[Evaluation]]
    say: Callable[[str], None]


Opener = Callable[[Config], AbstractContextManager[TaskEvaluator]]
"""Opens what evaluates under a config. It isn't called where a finished run is judged, or nothing."""


@dataclass(frozen=True)
class _Evaluated:
    """The result of evaluating, or of reading a run."""

    found: Evaluations
    terms: Terms
    environment: Environment | None
    remarks: list[str]
    lost: list[Judged] = field(default_factory=list)


def decide(workspace: Workspace, request: GateRequest, open_evaluator: Opener) -> GateReport:
    """Judge what is asked for; whatever a solution does is in the report.

    Raises: UsageError, MachineError, JournalError.
    """
    results = request.results or workspace.results
    policy = _policy(request, workspace)
    config = workspace.config(request.config)
    snapshot = open_snapshot(request.snapshot, workspace.root, results)
    tasks, broken = find_scope(workspace, request.problems, request.solutions)
    lost = find_missing(workspace, request.problems, request.solutions, snapshot)
    remarks = _workspace_remarks(workspace, request.problems, policy)
    if request.changed_since is not None:
        tasks, remark = _changed(tasks, request, workspace, request.changed_since)
        remarks.append(remark)
    today = datetime.datetime.now(datetime.timezone.utc).date()
    terms = Terms(policy, snapshot, today, _why_not_judged(tasks, request, policy, config))
    evaluated = _Evaluated({}, terms, None, [])
    if tasks and request.from_run is not None:
        evaluated = _from_run(tasks, terms, read_run(results, request.from_run), config)
    elif tasks:
        evaluated = _evaluated_now(tasks, terms, config, open_evaluator)
    unjudged = {(one.problem, one.solution): one for one in (*broken, *lost, *evaluated.lost)}
    judged = [
        judge(subject, evaluated.found.get((subject.problem, subject.solution), []), evaluated.terms)
        for subject in map(subject_of, tasks)
        if (subject.problem, subject.solution) not in unjudged
    ]
    judged = sorted([*judged, *unjudged.values()], key=lambda one: (one.problem, one.solution))
    environment = evaluated.environment
    return GateReport(
        backend=environment.backend if environment else None,
        environment=environment.label if environment else None,
        commit=environment.commit if environment else None,
        snapshot=snapshot.source if snapshot else None,
        not_judged=evaluated.terms.not_judged,
        judged=tuple(judged),
        remarks=(
            *remarks,
            *(snapshot.remarks if snapshot else ()),
            *evaluated.remarks,
            *waiver_remarks(judged, policy, terms.today),
        ),
        folder=folder_in_repository(workspace.root),
    )


def _policy(request: GateRequest, workspace: Workspace) -> Policy:
    """The policy with what the command line says on top."""
    policy = load_policy(request.policy, workspace.root)
    if request.forbid_inconclusive:
        policy = replace(policy, inconclusive="forbid")
    return replace(policy, other_environment="allow") if request.allow_other_environment else policy


def _workspace_remarks(workspace: Workspace, problems: Sequence[str], policy: Policy) -> list[str]:
    names = workspace.problem_names()
    unused = [pattern for pattern in policy.problems if not any(fits(name, [pattern]) for name in names)]
    return [
        *(f"the policy's '{pattern}' names no problem" for pattern in unused),
        *(f"problem '{name}' has no solution" for name in without_solutions(workspace, problems)),
    ]


def _changed(
    tasks: Sequence[Task], request: GateRequest, workspace: Workspace, since: str
) -> tuple[Sequence[Task], str]:
    """The tasks that a change concerns, with a remark on it. Raises: UsageError where git doesn't know the ref."""
    named = [name for name in (request.policy, request.config, request.snapshot) if name is not None]
    paths = [path for name in named for path in (Path(name).absolute(), workspace.root / name)]
    also = [path.relative_to(workspace.root).as_posix() for path in paths if path.is_relative_to(workspace.root)]
    written = [path for path in request.written if path.exists()]
    found = [path for path in changed_since(workspace.root, since) if not _is_one(workspace.root / path, written)]
    chosen, because = select_changed(workspace, tasks, found, also)
    if because is not None:
        return chosen, f"all solutions ({len(tasks)}) are judged: {because} changed since {since}, and may concern any"
    return chosen, f"solutions changed since {since}: {len(chosen)} of {len(tasks)}"


def _is_one(path: Path, others: Sequence[Path]) -> bool:
    return path.exists() and any(path.samefile(other) for other in others)


def _why_not_judged(tasks: Sequence[Task], request: GateRequest, policy: Policy, config: Config) -> str | None:
    if request.correctness_only:
        return "--correctness-only was asked for"
    if tasks and all(policy.demands(task.problem.name).correctness_only for task in tasks):
        return "the policy asks for correctness alone"
    return None if config.timing.enabled or request.from_run else "the config switches timing off"


def _from_run(tasks: Sequence[Task], terms: Terms, run: GateRun, config: Config) -> _Evaluated:
    found, lost, refusals = from_run(tasks, run.evaluations)
    evaluations = [evaluation for of_one in found.values() for evaluation in of_one]
    remarks = [*run.remarks, *refusals, *other_settings(evaluations, config, terms.not_judged is None)]
    environments = [evaluation.environment for evaluation in evaluations]
    if not environments:
        terms = replace(terms, not_judged="the run holds no result that counts")
        return _Evaluated({}, terms, None, remarks, lost)
    on_gpus = {environment.fingerprint: environment for environment in environments if environment.backend == "cuda"}
    on_gpu = next(iter(on_gpus.values()), None)
    different = [line for here in on_gpus.values() for line in _different_environment(tasks, terms, here)]
    shown = on_gpu or environments[0]
    terms = _terms_on(shown, terms)
    return _Evaluated(found, terms, shown, remarks + _comparison_remarks(different, terms), lost)


def _evaluated_now(tasks: Sequence[Task], terms: Terms, config: Config, open_evaluator: Opener) -> _Evaluated:
    if terms.not_judged:
        config = config.but("timing", enabled=False)
    else:
        for task in tasks:
            select_cases(task.problem, [config.timing.case])
    with open_evaluator(config) as evaluator:
        environment = evaluator.environment
        terms = _terms_on(environment, terms)
        different = _different_environment(tasks, terms, environment)
        found = measure(tasks, evaluator.evaluate, terms, evaluator.say)
    return _Evaluated(found, terms, environment, _comparison_remarks(different, terms))


def _terms_on(environment: Environment, terms: Terms) -> Terms:
    if environment.backend == "cuda" or terms.not_judged:
        return terms
    return replace(terms, not_judged="no GPU, and the simulator measures no times")


def _different_environment(tasks: Sequence[Task], terms: Terms, here: Environment) -> list[str]:
    """List what differs. Raises: UsageError where the policy allows no comparison across environments."""
    if terms.not_judged or terms.snapshot is None:
        return []
    timed = [t for t in tasks if not terms.policy.demands(t.problem.name).correctness_only]
    different = other_environments(terms.snapshot, [(t.problem.name, t.solution.name) for t in timed], here)
    if different and terms.policy.other_environment == "refuse":
        raise UsageError(
            f"{terms.snapshot.source} was accepted in another environment ({'; '.join(different)}), so speeds can't be "
            "compared. Judge --correctness-only, run where it was accepted, accept a new snapshot here, or compare "
            "nevertheless with --allow-other-environment"
        )
    return different


def _comparison_remarks(different: Sequence[str], terms: Terms) -> list[str]:
    if different:
        return [f"speeds of different environments are compared: {'; '.join(different)}"]
    if terms.snapshot or terms.not_judged:
        return []
    return ["no snapshot.jsonl, so no speed is compared; 'harness snapshot accept' makes one of the latest run"]
