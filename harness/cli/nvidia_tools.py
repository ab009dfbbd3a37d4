"""`harness profile` and `harness sanitize`: what NVIDIA's instruments see in an arm's kernels."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

import harness
from harness import reports, tools
from harness.cli import completion, exit_codes
from harness.cli.options import JsonFlag, ProblemName, QuietFlag, ResultsFolder
from harness.cli.printing import print_json, print_report
from harness.cli.signals import end_politely
from harness.model.instruments import SANITIZER_TOOLS

OneSolution = Annotated[
    str | None,
    typer.Argument(
        help="A folder name under solutions/PROBLEM/. Default: the only one.", autocompletion=completion.solutions
    ),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Folder for the files. Default: a new one in results/.")
]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds after which a run under a tool is ended.")]


class ToolChoice(str, enum.Enum):
    MEMCHECK = "memcheck"
    RACECHECK = "racecheck"
    INITCHECK = "initcheck"
    SYNCCHECK = "synccheck"


def profile(
    problem: ProblemName,
    solution: OneSolution = None,
    case: Annotated[
        str | None, typer.Option("-c", "--case", help="A case. Default: full.", autocompletion=completion.cases)
    ] = None,
    arm: Annotated[
        Literal["solution", "reference"], typer.Option(help="reference: the problem's own Model instead of a solution.")
    ] = "solution",
    kernel: Annotated[
        str | None, typer.Option(help="Count only kernels whose name matches this regular expression.")
    ] = None,
    launches: Annotated[int, typer.Option(min=1, help="Count so many launches of a call, the first ones.")] = 20,
    metrics: Annotated[
        Literal["basic", "detailed", "full"],
        typer.Option("--set", help="Nsight Compute's set of sections, beside those of the table."),
    ] = "detailed",
    output: Output = None,
    results: ResultsFolder = None,
    timeout: Timeout = 600,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Show what limits a solution's kernels: bandwidth, occupancy, registers, bank conflicts, stalls; and the timeline.

    Kept are Nsight Compute's report for its GUI (ncu-ui) and a Chrome trace (ui.perfetto.dev). The solution runs with
    your rights, outside the referee, little confined: profile what you would run yourself. Its numbers decide nothing.

    Example: harness profile maxpool2d plain
    """
    target = tools.choose_target(harness.find_workspace(), problem, solution, case, arm == "reference", False)
    with _looking(quiet) as say:
        asked = tools.inspection(target, "ncu", "profiles", output, results, timeout)
        found = tools.run_profile(asked, tools.CounterRequest(metrics, kernel, launches), say)
    if json:
        print_json(reports.profile_json(found))
    else:
        print_report(reports.profile_report(found))


def sanitize(
    problem: ProblemName,
    solution: OneSolution = None,
    case: Annotated[
        str | None,
        typer.Option(
            "-c",
            "--case",
            help="A case. Default: small, else the first besides full, which would take long.",
            autocompletion=completion.cases,
        ),
    ] = None,
    tool: Annotated[list[ToolChoice] | None, typer.Option(help="A tool; repeatable. Default: all four.")] = None,
    output: Output = None,
    results: ResultsFolder = None,
    timeout: Timeout = 600,
    json: JsonFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Look for accesses out of bounds, races, uninitialised reads and unreached barriers in a solution's kernels.

    Findings in torch's or other libraries' kernels are listed and not held against it. Exit code 1 where its own have
    some. The solution runs with your rights, outside the referee, little confined.

    Example: harness sanitize maxpool2d plain --tool racecheck
    """
    target = tools.choose_target(harness.find_workspace(), problem, solution, case, of_reference=False, is_small=True)
    with _looking(quiet) as say:
        asked = tools.inspection(target, "compute-sanitizer", "sanitizer", output, results, timeout)
        found = tools.run_sanitizer(
            asked, tuple(dict.fromkeys(one.value for one in tool)) if tool else SANITIZER_TOOLS, say
        )
    if json:
        print_json(reports.sanitizing_json(found))
    else:
        print_report(reports.sanitizing_report(found))
    raise typer.Exit(exit_codes.of_sanitizing(found))


@contextmanager
def _looking(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Give it what is being done: a spinner on a terminal, lines elsewhere, nothing if `quiet`; on stderr.

    A solution that doesn't compile, raises or crashes ends the command with exit code 1, and is said how.
    """
    end_politely()
    from rich.console import Console
    from rich.text import Text

    from harness.tools import ArmFailed

    console = Console(stderr=True, quiet=quiet)
    try:
        if console.is_terminal:
            with console.status("looking for the GPU") as status:
                yield lambda what: status.update(Text(what))
        else:
            yield lambda what: console.print(Text(f"… {what}"))
    except ArmFailed as failed:
        if failed.details:
            typer.echo(reports.quoted(failed.details.rstrip(), "| "), err=True)
        typer.echo(reports.quoted(str(failed), "harness: "), err=True)
        raise typer.Exit(exit_codes.FAILED) from None
