"""`harness watch`: one solution, checked again whenever it is saved."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

import harness
from harness import reports
from harness.cli import exit_codes
from harness.cli.options import TIMING, JudgingOptions, ProblemName, SolutionName, spread
from harness.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from harness.run.session import Session
    from harness.workspace.selection import Task
    from harness.workspace.watcher import Watcher


@spread
def watch(
    problem: ProblemName,
    solution: SolutionName,
    timing: Annotated[bool, TIMING] = False,
    *,
    options: JudgingOptions,
) -> None:
    """Check a solution now and after every save of it or its problem; a save during a check starts it anew. Ctrl-C
    ends.

    Each check is an evaluation in the journal. Example: harness watch maxpool2d plain --case small
    """
    workspace = harness.find_workspace()
    cases = options.case or []
    _task(workspace, problem, solution, cases)  # a mistyped name ends here; later faults are shown and waited out
    settings = options.settings(workspace).but("timing", enabled=timing)

    _say(f"getting ready to check {problem}/{solution}")
    from rich.console import Console

    from harness.run.session import open_session  # torch comes in here
    from harness.workspace.watcher import Watcher

    console = Console()
    watcher = Watcher([workspace.root / "problems" / problem, workspace.root / "solutions" / problem / solution])
    results = options.results or workspace.results
    while True:  # a check that a save interrupts takes its session with it
        with open_session(options.backend, workspace.root, results, settings, options.seed, _say) as session:
            is_finished = True
            while is_finished:
                watcher.mark()
                console.clear()  # does nothing where output is no terminal
                with watcher.setting(session.stop) as saved:
                    try:
                        check(console, session, workspace, (problem, solution), cases, options.verbose)
                    except Interrupted:
                        if not saved.is_set():
                            raise
                is_finished = not saved.is_set()
                if is_finished:
                    _wait(console, watcher)
        _say("saved meanwhile: checking again")


def _wait(console: Console, watcher: Watcher) -> None:
    console.print(f"[dim]{time.strftime('%H:%M:%S')} waiting for a save; Ctrl-C ends[/dim]", highlight=False)
    try:
        watcher.wait()
    except KeyboardInterrupt:  # the way to leave; during a check it is an interruption like any other
        raise typer.Exit(exit_codes.PASSED) from None


def check(
    console: Console,
    session: Session,
    workspace: harness.Workspace,
    names: tuple[str, str],
    cases: list[str],
    verbose: bool,
) -> None:
    """Evaluate the solution as it is now and print how it went; or what is broken in its files, or its problem's."""
    from rich.text import Text

    try:
        task = _task(workspace, *names, cases)
        (evaluation,) = session.evaluate([task], lambda job, what: _say(what))
    except UsageError as error:
        console.print(Text(str(error), style="red"))
    else:
        console.print(reports.run_report([evaluation], verbose))


def _say(what: str) -> None:
    typer.echo(f"… {what}", err=True)


def _task(workspace: harness.Workspace, problem: str, solution: str, cases: list[str]) -> Task:
    """The solution as it is now. Raises: UsageError, InvalidFile."""
    from harness.workspace.selection import Task
    from harness.workspace.workspace import select_cases

    chosen = workspace.problem(problem)
    (only,) = workspace.solutions(problem, [solution])
    return Task(chosen, only, tuple(select_cases(chosen, cases)))
