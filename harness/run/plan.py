"""The tasks that are left to do: what has a result already, and what failed last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import ProblemRef, SolutionRef, evaluation_key
from harness.model.verdict import Verdict
from harness.store.entry import Entry, config_hash
from harness.store.index import Index
from harness.workspace.selection import Task


@dataclass(frozen=True)
class Planned:
    """A task, and the result that the journals hold for exactly this question; None where there is none."""

    task: Task
    result: Entry | None


def evaluated_before(tasks: Sequence[Task], known: Index) -> list[Task]:
    """The tasks of whose solutions there is any evaluation, with whatever sources, settings and environment."""
    names = known.names()
    return [task for task in tasks if (task.problem.name, task.solution.name) in names]


def plan(tasks: Sequence[Task], config: Config, environments: Sequence[Environment], known: Index) -> list[Planned]:
    """Every task with its result, if there is one for exactly these sources, cases and settings and one of these
    environments, of which a cluster may have several.

    Every verdict is a result but `harness_error`: that says nothing about the solution.
    """
    before = evaluated_before(tasks, known)  # the files of others needn't be read
    keys = [dict(zip(map(id, before), _keys(before, config, one), strict=True)) for one in environments]
    entries = known.latest_by_key([key for of_one in keys for key in of_one.values()])
    results = {key: entry for key, entry in entries.items() if entry.verdict is not Verdict.HARNESS_ERROR}
    found = ([results.get(of_one.get(id(task), "")) for of_one in keys] for task in tasks)
    return [Planned(task, next(filter(None, of_task), None)) for task, of_task in zip(tasks, found, strict=True)]


def why_anew(task: Task, config: Config, environment: Environment, known: Index) -> str:
    """Say why no result of this task can be kept."""
    entry = known.latest(task.problem.name, task.solution.name, environment.backend)
    if entry is None:
        return "it has no result yet"
    if entry.environment != environment.fingerprint:
        return f"its result is of another environment, {entry.environment_label}"
    if (entry.problem_sha256, entry.solution_sha256) != (task.problem.sha256, task.solution.sha256):
        return "its files have changed since"
    if entry.config != config_hash(config):
        return "its result has other settings"
    return "its result is of other cases" if entry.verdict is not Verdict.HARNESS_ERROR else "the harness failed then"


def failed_last(tasks: Sequence[Task], environment: Environment, known: Index) -> list[Task]:
    """The tasks whose solution's newest evaluation on this backend ended with another verdict than expected, or passes
    without the look at every access that found a fault."""
    found = []
    for task in tasks:
        entries = known.entries(problem=task.problem.name, solution=task.solution.name, backend=environment.backend)
        last = (known.sanitized_fault(entries) or entries[-1]) if entries else None
        if last is not None and last.verdict is not last.expected_verdict:
            found.append(task)
    return found


def _keys(tasks: Sequence[Task], config: Config, environment: Environment) -> list[str]:
    problems: dict[str, ProblemRef] = {}
    keys = []
    for task in tasks:
        name = task.problem.name
        if name not in problems:  # hashed once, however many solutions it has
            problems[name] = ProblemRef(name, task.problem.sha256, task.problem.precision or "float32")
        about = task.solution.about
        solution = SolutionRef(
            task.solution.name, task.solution.sha256, about.author, about.precision, about.expected_verdict
        )
        keys.append(evaluation_key(problems[name], solution, task.cases, config, environment))
    return keys
