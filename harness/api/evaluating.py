"""One call, one answer: evaluate a solution, or compare the solutions of a workspace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.api.evaluator import AnyProblem, AnySolution, Backend, Evaluator
from harness.model.config import Config
from harness.model.evaluation import Evaluation
from harness.run.engine import EngineName
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import find_workspace


def evaluate(
    problem: AnyProblem,
    solution: AnySolution,
    *,
    backend: Backend = "auto",
    config: Config | Path | str | None = None,
    cases: Sequence[str] = (),
    seed: int | None = None,
    results: Path | None = None,
    name: str | None = None,
    workspace: Path | None = None,
) -> Evaluation:
    """Judge one solution of a problem, and time it where there is a GPU.

    problem: a Problem, the Path of its folder or of a KernelBench file, its name in the workspace, or its source (a
    string with a line break).
    solution: a Solution, the Path of its folder or of its file, or its source (any string).
    cases: names of the problem's cases; none means all.
    name: what a solution given as source is called in the record; None makes a name of its hash.
    For the others see Evaluator. Many evaluations are faster through one Evaluator than through calls of this.

    What the solution does, up to crashing or cheating, is in the Evaluation. The problem's own code runs in this
    process: it is trusted, the solution isn't.

    Raises: MachineError, UsageError, InvalidFile, JournalError; never on the solution's account.
    """
    with Evaluator(backend=backend, config=config, seed=seed, results=results, workspace=workspace) as evaluator:
        return evaluator.evaluate(problem, solution, cases=cases, name=name)


def compare(
    problems: str | Sequence[str] = (),
    solutions: str | Sequence[str] = (),
    *,
    backend: Backend = "auto",
    config: Config | Path | str | None = None,
    cases: Sequence[str] = (),
    seed: int | None = None,
    results: Path | None = None,
    workspace: Path | None = None,
    engine: EngineName = "local",
    ray_address: str = "auto",
    ray_gpu: str | None = None,
) -> list[Evaluation]:
    """Evaluate the solutions of a workspace that shell patterns name; all where there is none.

    The arguments and what is raised are those of evaluate() and of Evaluator; the order is that of the tasks' ends.
    """
    return list(iter_evaluations(**locals()))


def iter_evaluations(
    problems: str | Sequence[str] = (),
    solutions: str | Sequence[str] = (),
    *,
    backend: Backend = "auto",
    config: Config | Path | str | None = None,
    cases: Sequence[str] = (),
    seed: int | None = None,
    results: Path | None = None,
    workspace: Path | None = None,
    engine: EngineName = "local",
    ray_address: str = "auto",
    ray_gpu: str | None = None,
) -> Iterator[Evaluation]:
    """Work like compare(), but yield each evaluation as soon as it is there. An early end stops what is under way."""
    place = find_workspace(workspace)
    tasks = select_tasks(place, _patterns(problems), _patterns(solutions), cases)
    with Evaluator(
        backend=backend,
        config=config,
        seed=seed,
        results=results,
        workspace=place.root,
        engine=engine,
        ray_address=ray_address,
        ray_gpu=ray_gpu,
    ) as evaluator:
        yield from evaluator.iter_tasks(tasks)


def _patterns(given: str | Sequence[str]) -> Sequence[str]:
    return [given] if isinstance(given, str) else given
