"""`harness gate`: may this change be merged?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, exit_codes
from harness.cli.options import Backend, BackendChoice, ConfigName, Quiet, Results, Sanitize, Seed, Verbose

if TYPE_CHECKING:
    from harness.model.gate import GateReport

Problems = Annotated[
    list[str] | None,
    typer.Option(
        "-p", "--problem", help="A name or shell pattern; repeatable. Default: all.", autocompletion=completion.problems
    ),
]
Solutions = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--solution",
        help="A name or shell pattern; repeatable. Default: all.",
        autocompletion=completion.solutions,
    ),
]
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
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.", show_default=False)]
Sarif = Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0.", show_default=False)]
Markdown = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write Markdown for a comment.", show_default=False)
]
Github = Annotated[bool, typer.Option("--github", help="Annotations and job summary of GitHub Actions.")]
AsJson = Annotated[bool, typer.Option("--json", help="The report as one JSON object on stdout.")]


def gate(
    problem: Problems = None,
    solution: Solutions = None,
    snapshot: SnapshotName = None,
    policy: PolicyName = None,
    correctness_only: CorrectnessOnly = False,
    changed_since: ChangedSince = None,
    from_run: FromRun = None,
    allow_other_environment: AllowOther = False,
    forbid_inconclusive: Forbid = False,
    backend: Backend = BackendChoice.AUTO,
    config: ConfigName = None,
    seed: Seed = None,
    sanitize: Sanitize = False,
    results: Results = None,
    junit: Junit = None,
    sarif: Sarif = None,
    markdown: Markdown = None,
    github: Github = False,
    json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Judge solutions for CI: every one must end as its solution.yaml expects, and none be slower than was accepted.

    Exit codes: 0 pass, 1 failed, 2 usage, 3 machine or harness, 4 inconclusive where the policy forbids it.

    Example: harness gate --snapshot git:origin/main --changed-since origin/main --junit gate.xml
    """
    from harness.cli.gate_answer import Targets, deliver, stop_commands
    from harness.cli.gate_run import Request, run_gate

    targets = Targets(junit, sarif, markdown, github, json, verbose)
    targets.check()
    token = stop_commands(targets)
    request = Request(
        problems=tuple(problem or ()),
        solutions=tuple(solution or ()),
        snapshot=snapshot,
        policy=policy,
        correctness_only=correctness_only,
        changed_since=changed_since,
        from_run=from_run,
        allow_other_environment=allow_other_environment,
        forbid_inconclusive=forbid_inconclusive,
        backend=backend.value,
        config=config,
        seed=seed,
        sanitize=sanitize,
        results=results,
        quiet=quiet,
    )
    report: GateReport = run_gate(request)
    deliver(report, targets, token)
    raise typer.Exit(exit_codes.of_gate(report))
