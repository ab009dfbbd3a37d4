"""`harness sanitize`: compute-sanitizer's tools over a solution's kernels."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion, exit_codes
from harness.cli.nvidia_tools import OneSolution, Output, Timeout, looking
from harness.cli.options import JsonFlag, ProblemName, QuietFlag, ResultsFolder
from harness.cli.printing import print_json, print_report


class ToolChoice(str, enum.Enum):
    MEMCHECK = "memcheck"
    RACECHECK = "racecheck"
    INITCHECK = "initcheck"
    SYNCCHECK = "synccheck"


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
    from harness.model.sanitizing import SANITIZER_TOOLS, SanitizerTool
    from harness.reports import sanitizing_json, sanitizing_report
    from harness.tools import choose_target
    from harness.workspace.workspace import find_workspace

    target = choose_target(find_workspace(Path.cwd()), problem, solution, case, of_reference=False, is_small=True)
    with looking(quiet) as say:
        from harness.tools import inspection, run_sanitizer

        asked = inspection(target, "compute-sanitizer", "sanitizer", output, results, timeout)
        tools: tuple[SanitizerTool, ...] = tuple(dict.fromkeys(t.value for t in tool)) if tool else SANITIZER_TOOLS
        found = run_sanitizer(asked, tools, say)
    if json:
        print_json(sanitizing_json(found))
    else:
        print_report(sanitizing_report(found))
    raise typer.Exit(exit_codes.of_sanitizing(found))
