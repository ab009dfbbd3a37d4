"""`harness gate`: may this change be merged?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli import exit_codes
from harness.cli.gate_answer import GateOutputs
from harness.cli.options import (
    BackendOption,
    ConfigName,
    ProblemPatterns,
    QuietFlag,
    ResultsFolder,
    SanitizeFlag,
    SeedOption,
    SolutionPatterns,
    spread,
)
from harness.cli.signals import end_politely

if TYPE_CHECKING:
    from harness.cli.progress import Progress
    from harness.gate import Opener
    from harness.model.config import Config
    from harness.model.environment import Environment
    from harness.model.evaluation import Evaluation
    from harness.run.session import Session
    from harness.workspace.selection import Task

SnapshotName = Annotated[
    str | None,
    typer.Option(
        "--snapshot",
        metavar="FILE|git:REF|run:ID",
        help="What speeds are compared with. Default: snapshot.jsonl, if it is there.",
        show_default=False,
    ),
]
PolicyName = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE|git:REF", help="Default: gate.yaml, if it is there.", show_default=False),
]
CorrectnessOnly = Annotated[bool, typer.Option("--correctness-only", help="Neither measure nor judge speed.")]
ChangedSince = Annotated[
    str | None,
    typer.Option(metavar="REF", help="Only what changed since HEAD left this git ref.", show_default=False),
]
FromRun = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Judge a finished run ('latest' too); evaluate nothing.", show_default=False),
]
AllowOther = Annotated[
    bool, typer.Option("--allow-other-environment", help="Compare speeds of different environments nevertheless.")
]
Forbid = Annotated[bool, typer.Option("--forbid-inconclusive", help="End with 4 where speed is undecided.")]


@spread
def gate(
    problem: ProblemPatterns = None,
    solution: SolutionPatterns = None,
    snapshot: SnapshotName = None,
    policy: PolicyName = None,
    correctness_only: CorrectnessOnly = False,
    changed_since: ChangedSince = None,
    from_run: FromRun = None,
    allow_other_environment: AllowOther = False,
    forbid_inconclusive: Forbid = False,
    backend: BackendOption = "auto",
    config: ConfigName = None,
    seed: SeedOption = None,
    sanitize: SanitizeFlag = False,
    results: ResultsFolder = None,
    quiet: QuietFlag = False,
    *,
    outputs: GateOutputs,
) -> None:
    """Judge solutions for CI: every one must end as its solution.yaml expects, and none be slower than was accepted.

    Exit codes: 0 pass, 1 failed, 2 usage, 3 machine or harness, 4 inconclusive where the policy forbids it.

    Example: harness gate --snapshot git:origin/main --changed-since origin/main --junit gate.xml
    """
    from harness.gate import GateRequest, decide
    from harness.workspace.workspace import find_workspace

    outputs.check()
    token = outputs.stop_commands()
    request = GateRequest(
        problems=problem or (),
        solutions=solution or (),
        snapshot=snapshot,
        policy=policy,
        correctness_only=correctness_only,
        changed_since=changed_since,
        from_run=from_run,
        allow_other_environment=allow_other_environment,
        forbid_inconclusive=forbid_inconclusive,
        config=config,
        sanitize=sanitize,
        results=results,
    )
    workspace = find_workspace(Path.cwd())
    kept = results or workspace.results
    report = decide(workspace, request, _opener(backend, workspace.root, kept, seed, quiet))
    outputs.deliver(report, token)
    raise typer.Exit(exit_codes.of_gate(report))


def _opener(
    backend: Literal["auto", "cuda", "sim"], root: Path, results: Path, seed: int | None, quiet: bool
) -> Opener:
    """Open a session on this machine, with progress on stderr."""

    @contextmanager
    def opened(config: Config) -> Iterator[_InSession]:
        end_politely(then_at_once=True)
        from harness.cli.progress import Progress
        from harness.run.session import open_session  # torch comes in here

        with Progress(quiet) as progress, open_session(backend, root, results, config, seed, progress.say) as session:
            yield _InSession(session, progress)

    return opened


class _InSession:
    """Evaluates in a session; tasks that are judged again add to what progress expects."""

    def __init__(self, session: Session, progress: Progress) -> None:
        self._session = session
        self._progress = progress
        self._problems: set[str] = set()
        self._asked_for = 0

    @property
    def environment(self) -> Environment:
        return self._session.environment

    def say(self, what: str) -> None:
        self._progress.say(what)

    def evaluate(self, tasks: Sequence[Task]) -> Iterator[Evaluation]:
        self._problems |= {task.problem.name for task in tasks}
        self._asked_for += len(tasks)
        self._progress.expect(self._asked_for, across_problems=len(self._problems) > 1)
        with closing(self._session.evaluate(tasks, self._progress.observe)) as evaluations:
            for evaluation in evaluations:
                self._progress.finished(evaluation)
                yield evaluation
