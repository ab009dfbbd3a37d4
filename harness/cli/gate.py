"""`harness gate`: may this change be merged?"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import harness.gate
from harness import reports
from harness.cli import exit_codes
from harness.cli.options import (
    BackendOption,
    ConfigName,
    ProblemPatterns,
    QuietFlag,
    RequireConfinement,
    ResultsFolder,
    SeedOption,
    SolutionPatterns,
    VerboseFlag,
    spread,
)
from harness.cli.printing import print_report
from harness.cli.signals import end_politely
from harness.errors import JournalError, UsageError, refused

if TYPE_CHECKING:
    from harness.model.config import Config, ConfinementLevel
    from harness.model.gate import GateReport


@dataclass(frozen=True)
class GateOutputs:
    """The forms of the answer that are asked for."""

    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.")] = None
    sarif: Annotated[Path | None, typer.Option(metavar="FILE", help="Write SARIF 2.1.0.")] = None
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write Markdown for a comment.")] = None
    github: Annotated[bool, typer.Option("--github", help="Annotations and job summary of GitHub Actions.")] = False
    json: Annotated[bool, typer.Option("--json", help="The report as one JSON object on stdout.")] = False
    verbose: VerboseFlag = False

    @property
    def files(self) -> list[Path]:
        """The files that are written, one that stdout is led into included."""
        return [*filter(None, (self.junit, self.sarif, self.markdown)), Path("/dev/stdout")]

    def check(self) -> None:
        """Find out before minutes of work. Raises: UsageError for a file that can't be written there."""
        for option, path in (("--junit", self.junit), ("--sarif", self.sarif), ("--markdown", self.markdown)):
            if path is not None and path.is_dir():
                raise UsageError(f"{option} {path}: a folder; name a file in it")
            if path is not None and not path.absolute().parent.is_dir():
                raise UsageError(f"{option} {path}: no such folder; make it first")
            if path is not None:
                _require_writable(option, path)

    def stop_commands(self) -> str:
        """Make the runner of GitHub Actions obey nothing that is printed, until deliver() tells it the token.

        After an error it obeys nothing to the step's end: the words of an error may be a solution's.
        """
        token = secrets.token_hex(16)  # nobody can guess it
        if self.github:
            typer.echo(reports.stopping(token), err=True)  # the runner reads both, each in its order
            if not self.json:  # which is to stay one object on stdout
                typer.echo(reports.stopping(token))
        return token

    def deliver(self, report: GateReport, token: str) -> None:
        """Print, annotate and write; a file that can't be written ends it.

        Raises: JournalError; what comes before the file in this order is there.
        """
        self._print(report)
        if self.github:
            typer.echo(reports.resuming(token), err=self.json)
            for command in reports.annotation_commands(report):
                typer.echo(command, err=self.json)
            if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
                _write(Path(summary), reports.gate_markdown(report, reports.SUMMARY_BYTES), mode="a")
        for path, text in (
            (self.junit, reports.junit_xml),
            (self.sarif, reports.sarif_json),
            (self.markdown, reports.gate_markdown),
        ):
            if path:
                _write(path, text(report))

    def _print(self, report: GateReport) -> None:
        if self.json:
            text = reports.gate_json(report)
            typer.echo(reports.without_old_commands(text) if self.github else text)
        else:
            print_report(reports.gate_report(report, self.verbose))


@spread
def gate(
    problem: ProblemPatterns = None,
    solution: SolutionPatterns = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            "--snapshot",
            metavar="FILE|git:REF|run:ID",
            help="What speeds are compared with. Default: snapshot.jsonl, if it is there.",
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="FILE|git:REF", help="Default: gate.yaml, if it is there.")
    ] = None,
    correctness_only: Annotated[
        bool, typer.Option("--correctness-only", help="Neither measure nor judge speed.")
    ] = False,
    changed_since: Annotated[
        str | None, typer.Option(metavar="REF", help="Only what changed since HEAD left this git ref.")
    ] = None,
    from_run: Annotated[
        str | None, typer.Option(metavar="ID", help="Judge a finished run ('latest' too); evaluate nothing.")
    ] = None,
    allow_other_environment: Annotated[
        bool, typer.Option("--allow-other-environment", help="Compare speeds of different environments nevertheless.")
    ] = False,
    forbid_inconclusive: Annotated[
        bool, typer.Option("--forbid-inconclusive", help="End with 4 where speed is undecided.")
    ] = False,
    backend: BackendOption = "auto",
    config: ConfigName = None,
    seed: SeedOption = None,
    sanitize: Annotated[
        bool | None, typer.Option("--sanitize/--no-sanitize", help="Simulator: look at every access.  [default: yes]")
    ] = None,
    require_confinement: RequireConfinement = None,
    results: ResultsFolder = None,
    quiet: QuietFlag = False,
    *,
    outputs: GateOutputs,
) -> None:
    """Judge solutions for CI: every one must end as its solution.yaml expects, and none be slower than was accepted.

    Exit codes: 0 pass, 1 failed, 2 usage, 3 machine or harness, 4 inconclusive where the policy forbids it.

    Example: harness gate --snapshot git:origin/main --changed-since origin/main --junit gate.xml
    """
    outputs.check()
    token = outputs.stop_commands()
    request = harness.gate.GateRequest(
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
        results=results,
        written=outputs.files,
    )
    workspace = harness.find_workspace()
    kept = results or workspace.results
    opener = partial(_opened, backend, workspace.root, kept, seed, sanitize, require_confinement, quiet)
    report = harness.gate.decide(workspace, request, opener)
    outputs.deliver(report, token)
    raise typer.Exit(exit_codes.OF_OUTCOMES[report.outcome])


@contextmanager
def _opened(
    backend: Literal["auto", "cuda", "sim"],
    root: Path,
    results: Path,
    seed: int | None,
    sanitize: bool | None,
    least: ConfinementLevel | None,
    quiet: bool,
    config: Config,
) -> Iterator[harness.gate.TaskEvaluator]:
    """Open a session on this machine, with progress on stderr."""
    end_politely(then_at_once=True)
    from harness.cli.progress import Progress
    from harness.store.journal import Journal

    Journal(results, "any").require_writable()  # before the seconds that torch takes
    from harness.run.session import environment_of, open_session

    if sanitize is None and backend != "cuda":
        sanitize = environment_of(backend, root).backend == "sim" or None
    else:
        sanitize = bool(sanitize)
    here = config.but("correctness", sanitize=sanitize).but("limits", confinement=least)
    with Progress(quiet) as progress, open_session(backend, root, results, here, seed, progress.say) as session:
        yield harness.gate.TaskEvaluator(session.environment, partial(progress.follow, session), progress.say)


def _require_writable(option: str, path: Path) -> None:
    existed = path.exists()
    with refused(UsageError, f"{option} {path}: can't be written", "choose another file"):
        path.open("a").close()
    if not existed:
        path.unlink()


def _write(path: Path, text: str, mode: Literal["w", "a"] = "w") -> None:
    advice = "the results are kept in the journal"
    with refused(JournalError, f"can't write {path}", advice), path.open(mode, encoding="utf-8") as file:
        file.write(text)
