"""The common part of `harness run` and `harness compare`, once they know what to evaluate: plan, evaluate, print."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from harness import reports
from harness.cli import exit_codes
from harness.cli.options import EngineOptions, EvaluatingOptions
from harness.cli.printing import print_json, print_report, say
from harness.cli.signals import end_politely
from harness.errors import Interrupted, UsageError
from harness.model.evaluation import Evaluation, without_source
from harness.model.plural import several
from harness.store.journal import Journal
from harness.workspace.workspace import Workspace, find_workspace, select_cases

if TYPE_CHECKING:
    from rich.console import RenderableType

    from harness.cli.progress import Progress
    from harness.model.config import Config
    from harness.run.early_start import ForkServers
    from harness.run.engine import AnySession, Engine
    from harness.run.plan import Planned
    from harness.store.index import Index
    from harness.workspace.selection import Broken, Task

MakesReport = Callable[[Sequence[Evaluation], frozenset[str]], "RenderableType"]
"""A report on a run's evaluations; the set holds the ids of those that were kept from earlier runs."""


@dataclass(frozen=True)
class _Asked:
    """The tasks that a command is to evaluate, and how."""

    workspace: Workspace
    tasks: Sequence[Task]
    options: EvaluatingOptions
    config: Config
    where: EngineOptions

    @property
    def results(self) -> Path:
        return self.options.results or self.workspace.results

    def engine(self) -> Engine:
        from harness.run.engine import Engine  # torch comes in here

        return Engine(self.where.engine, self.where.ray_address, self.where.ray_gpu)


def evaluate(
    workspace: Workspace,
    tasks: Sequence[Task],
    options: EvaluatingOptions,
    report: MakesReport,
    broken: Sequence[Broken] = (),
    where: EngineOptions = EngineOptions(),
) -> None:
    """Evaluate, print, and end the command with its exit code, which broken files make that of a wrong usage.

    Raises: InvalidFile where no task is left.
    """
    if broken and not tasks:
        raise broken[0].error
    for one in broken:
        say(f"left out: {one.problem}/{one.solution}: {one.error}")
    config = options.settings(workspace)
    for problem in {task.problem.name: task.problem for task in tasks}.values():
        select_cases(problem, [config.timing.case])
    asked = _Asked(workspace, tasks, options, config, where)
    if options.container and not options.dry_run:
        _judge_inside(options.container, asked)
    end_politely(then_at_once=True)
    from harness.run.early_start import ForkServers, require_simulator, start_early, surroundings_of

    require_simulator(options.backend, config.correctness.sanitize)
    around = surroundings_of(workspace.root, asked.results, config.limits.pass_environment)
    # Before torch is imported here: both take their seconds at once.
    is_needed = tasks and not options.dry_run and where.engine == "local"
    with contextlib.closing(
        start_early(options.backend, around, config.correctness.sanitize) if is_needed else ForkServers()
    ) as servers:
        code = _evaluate_and_print(asked, report, servers)
    if broken:
        say(f"left out: {len(broken)} of {several(len(broken) + len(tasks), 'solution')}, whose files break rules")
    raise typer.Exit(exit_codes.USAGE if broken else code)


def _judge_inside(image: str, asked: _Asked) -> None:
    """End this very command as it ends in a container; in there, go on. Raises: UsageError, MachineError."""
    from harness.run.container import is_inside, run_inside, without_workspace
    from harness.workspace.settings import find_settings

    if is_inside():
        return
    if asked.where.engine != "local":
        raise UsageError("--container is for --engine local")
    bare = {Path(file) for task in asked.tasks for file in (task.problem.file, task.solution.file) if file}
    root = asked.workspace.root
    if bare:  # it is of copies
        with contextlib.suppress(UsageError):
            root = find_workspace().root
    parts = (root / name for name in ("problems", "solutions", "configs"))
    others = (Path(asked.options.config or ""), *parts, *(one.path for one in find_settings(Path.cwd())))
    read = {Path.cwd(), root, *(file.parent for file in bare), *bare, *(path for path in others if path.exists())}
    arguments, passed = without_workspace(sys.argv[1:]), asked.config.limits.pass_environment
    raise typer.Exit(run_inside(image, read, asked.results, arguments, passed, asked.options.backend != "sim"))


def _evaluate_and_print(asked: _Asked, report: MakesReport, servers: ForkServers) -> int:
    """Return the exit code."""
    from harness.cli.progress import Progress

    options = asked.options
    with Progress(options.quiet) as progress:
        planned = _plan(asked, progress)
        kept = [one.result.id for one in planned if one.result and options.resume]
        chosen = [one.task for one in planned if not (one.result and options.resume)]
        if chosen and not options.dry_run:
            Journal(asked.results, "any").require_writable()
            progress.say("loading torch")  # seconds
    if options.dry_run:
        _list(planned, options)
        return exit_codes.PASSED
    evaluations: list[Evaluation] = []
    try:
        for evaluation in _load(asked.results, kept):
            _take(evaluation, evaluations, options)
        if chosen:
            from harness.run.engine import open_session  # torch comes in here

            with (
                Progress(options.quiet) as progress,
                open_session(
                    asked.engine(),
                    options.backend,
                    asked.workspace.root,
                    asked.results,
                    asked.config,
                    options.seed,
                    progress.say,
                    servers=servers,
                    keeps_source=not options.no_source,
                    jobs=options.jobs,
                ) as session,
            ):
                for evaluation in _evaluate(session, chosen, options, progress):
                    _take(evaluation, evaluations, options)
    finally:  # also what an interrupted run has found
        is_interrupted = isinstance(sys.exc_info()[1], (KeyboardInterrupt, Interrupted))
        if is_interrupted and (left := len(planned) - len(evaluations)):
            say(f"left: {left} of {several(len(planned), 'solution')}; --resume goes on")
        if evaluations and not options.json:
            print_report(report(evaluations, frozenset(kept)))
    return exit_codes.of_evaluations(evaluations) if planned else exit_codes.PASSED


def _plan(asked: _Asked, progress: Progress) -> list[Planned]:
    """The tasks, and which have a result already; the index is asked only where it matters."""
    from harness.run.plan import Planned, evaluated_before

    tasks, options = asked.tasks, asked.options
    unknown = [Planned(task, None) for task in tasks]
    if not (options.resume or options.last_failed or options.dry_run):
        return unknown
    from harness.store.index import open_index

    with open_index(asked.results, say=progress.say) as index:
        if evaluated_before(tasks, index):
            planned, why = _planned(asked, index)
        else:
            planned, why = [] if options.last_failed else unknown, "it has no result yet"
    if options.last_failed:
        progress.say(f"failed last: {len(planned)} of {several(len(tasks), 'solution')}")
    if options.resume:
        count = sum(one.result is not None for one in planned)
        reason = f"; {planned[0].task.solution.name}: {why}" if planned and not count else ""
        progress.say(f"kept: {count} of {several(len(planned), 'solution')}{reason}")
    return planned


def _planned(asked: _Asked, index: Index) -> tuple[list[Planned], str]:
    """The tasks with their results, and why the first has none that counts."""
    from harness.run.engine import environments_of  # torch comes in here
    from harness.run.plan import failed_last, plan, why_anew

    environments = environments_of(asked.engine(), asked.options.backend, asked.workspace.root)
    tasks = failed_last(asked.tasks, environments[0], index) if asked.options.last_failed else asked.tasks
    why = why_anew(tasks[0], asked.config, environments[0], index) if tasks else ""
    return plan(tasks, asked.config, environments, index), why


def _evaluate(
    session: AnySession, tasks: Sequence[Task], options: EvaluatingOptions, progress: Progress
) -> Iterator[Evaluation]:
    """Evaluations as they come, until there are too many failures."""
    failures = 0
    with contextlib.closing(progress.follow(session, tasks)) as evaluations:
        for done, evaluation in enumerate(evaluations, 1):
            yield evaluation
            failures += evaluation.verdict is not evaluation.solution.expected_verdict
            if failures == options.max_failures and done < len(tasks):
                left = len(tasks) - done
                progress.say(
                    f"stopped at {several(failures, 'failure')}; left: {several(left, 'solution')}; --resume goes on"
                )
                return


def _take(evaluation: Evaluation, evaluations: list[Evaluation], options: EvaluatingOptions) -> None:
    """Print the record where that is asked for, and keep what the report needs: a hundred thousand evaluations with
    their sources and compiler logs would fill the memory."""
    if options.json:
        from harness.store.line import to_line

        typer.echo(to_line(without_source(evaluation) if options.no_source else evaluation))
    builds = tuple(
        replace(build, output="", nvcc=replace(build.nvcc, output="") if build.nvcc else None)
        for build in evaluation.builds
    )
    evaluations.append(replace(evaluation, solution=replace(evaluation.solution, files={}), builds=builds))


def _load(results: Path, ids: Sequence[str]) -> Iterator[Evaluation]:
    if not ids:
        return
    from harness.store.index import open_index

    with open_index(results) as index:
        yield from index.evaluations(ids)


def _list(planned: Sequence[Planned], options: EvaluatingOptions) -> None:
    """Print what a run would do, a line each."""
    for one in planned:
        result, is_kept = one.result, bool(one.result and options.resume)
        if options.json:
            facts = {
                "problem": one.task.problem.name,
                "solution": one.task.solution.name,
                "cases": list(one.task.cases),
                "result": result.id if result else None,
                "kept": is_kept,
            }
            print_json(facts)
            continue
        before = f"{result.verdict.value}, {result.id}" if result else ""
        what = f"kept: {before}" if is_kept else f"evaluate (--resume keeps {before})" if result else "evaluate"
        typer.echo(reports.one_line(f"{one.task.problem.name}/{one.task.solution.name}: {what}"))
    if not options.json:
        kept = sum(bool(one.result and options.resume) for one in planned)
        typer.echo(f"{len(planned) - kept} to evaluate, {kept} kept")
