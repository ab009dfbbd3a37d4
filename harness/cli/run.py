"""`harness run`: evaluate solutions of one problem."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli.baselines import Baselines, measuring
from harness.cli.options import (
    AsJson,
    Backend,
    BackendChoice,
    Cases,
    ConfigName,
    DryRun,
    Jobs,
    LastFailed,
    LockClocks,
    MaxFailures,
    MinOwnShare,
    NoSource,
    Nvcc,
    Problem,
    Quiet,
    Results,
    Resume,
    Sanitize,
    Seed,
    Solutions,
    Timing,
    Verbose,
)

if TYPE_CHECKING:
    from rich.console import Console

    from harness.model.evaluation import Evaluation


def run(
    problem: Problem,
    solution: Solutions = None,
    baseline: Baselines = None,
    case: Cases = None,
    backend: Backend = BackendChoice.AUTO,
    config: ConfigName = None,
    seed: Seed = None,
    timing: Timing = True,
    lock_clocks: LockClocks = None,
    nvcc: Nvcc = True,
    sanitize: Sanitize = False,
    min_own_share: MinOwnShare = None,
    results: Results = None,
    no_source: NoSource = False,
    jobs: Jobs = None,
    max_failures: MaxFailures = None,
    last_failed: LastFailed = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate solutions of a problem: compile, check against the reference, time on the GPU.

    Example: harness run --problem maxpool2d --solution plain
    """
    from harness.cli.sitting import Choices, hold
    from harness.workspace.selection import Task
    from harness.workspace.workspace import find_workspace, select_cases

    workspace = find_workspace(Path.cwd())
    chosen = workspace.problem(problem)
    cases = tuple(select_cases(chosen, case or []))
    tasks = [Task(chosen, one, cases) for one in workspace.solutions(problem, solution or [])]
    settings = measuring(workspace.config(config).at_clock(lock_clocks), timing, baseline, nvcc).sanitized(sanitize)
    settings = settings.with_own_share(min_own_share)
    select_cases(chosen, [settings.timing.case])

    def report(console: Console, evaluations: Sequence[Evaluation], kept: frozenset[str]) -> None:
        from harness.reports import run_report

        console.print(run_report(evaluations, verbose))

    choices = Choices(
        backend=backend.value,
        config=settings,
        seed=seed,
        results=results or workspace.results,
        no_source=no_source,
        jobs=jobs,
        max_failures=max_failures,
        resume=resume,
        last_failed=last_failed,
        dry_run=dry_run,
        json=json,
        quiet=quiet,
    )
    hold(workspace, tasks, choices, report)
