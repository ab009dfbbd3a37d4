"""The job of the referee: one solution of one problem, with the settings."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.config import Config
from harness.model.evaluation import ProblemRef, SolutionRef
from harness.referee.unchanged import remember_harness
from harness.workspace.problem import Problem
from harness.workspace.selection import Task
from harness.workspace.solution import Solution


@dataclass(frozen=True)
class Job:
    run: str
    problem: Problem
    solution: Solution
    cases: tuple[str, ...]
    config: Config
    seed: int
    problem_ref: ProblemRef
    solution_ref: SolutionRef
    outages: tuple[str, ...] = ()
    """The machine's part in earlier tries, each of which ended with it."""
    tries: int = 0
    """The number of times that the solution has been begun before: its inputs then are no secret any more."""
    again: tuple[str, ...] = ()
    """The name of a further try within one evaluation, after that of the try it follows. Each has its own inputs."""


def make_job(run: str, task: Task, config: Config, seed: int) -> Job:
    """A job with the hashes of its files as they are now, before any code of the solution runs."""
    remember_harness()
    problem, solution, about = task.problem, task.solution, task.solution.about
    return Job(
        run=run,
        problem=problem,
        solution=solution,
        cases=task.cases,
        config=config,
        seed=seed,
        problem_ref=ProblemRef(
            problem.name, problem.sha256, problem.precision or "float32", problem.title, problem.file
        ),
        solution_ref=SolutionRef(
            name=solution.name,
            sha256=solution.sha256,
            author=about.author,
            precision=about.precision,
            expected_verdict=about.expected_verdict,
            explanation=about.explanation.strip(),
            files=solution.texts(),
            file=solution.file,
        ),
    )
