"""`harness check-problem`: would a problem tell the right answer from wrong ones?"""

from __future__ import annotations

from typing import Annotated

import typer

import harness
from harness import reports, tools
from harness.cli import completion, exit_codes
from harness.cli.options import BackendOption, CaseNames, QuietFlag, SeedOption, VerboseFlag
from harness.cli.printing import print_json, print_report


def check_problem(
    problems: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folder names under problems/, or patterns. Default: all.", autocompletion=completion.problems
        ),
    ] = None,
    case: CaseNames = None,
    backend: BackendOption = "auto",
    seed: SeedOption = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a problem, a line each.")] = False,
    verbose: VerboseFlag = False,
    quiet: QuietFlag = False,
) -> None:
    """Give wrong answers to a problem, and say which of them its inputs and its tolerance would let pass.

    Mutants are zeros, the input, another call's output, half precision, an element off and their like. Solutions play
    no part. Exit code 1 where a mutant passes or the reference contradicts itself.

    Example: harness check-problem maxpool2d
    """
    from rich.console import Console

    from harness.workspace.selection import select_problems

    workspace = harness.find_workspace()
    chosen = [workspace.problem(name) for name in select_problems(workspace, problems or ())]
    with Console(stderr=True, quiet=quiet).status("importing torch") as status:
        found = []
        for check in tools.check_problems(chosen, case or (), backend, seed, status.update):
            found.append(check)
            if json:
                print_json(reports.problem_check_json(check))
            else:
                print_report(reports.problem_check_report(check, verbose))
                typer.echo()
    raise typer.Exit(exit_codes.of_problems(found))
