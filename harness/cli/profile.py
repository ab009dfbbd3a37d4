"""`harness profile`: what an arm's kernels do with the GPU, by Nsight Compute and torch's profiler."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion
from harness.cli.nvidia_tools import OneSolution, Output, Timeout, looking
from harness.cli.options import JsonFlag, ProblemName, QuietFlag, ResultsFolder
from harness.cli.printing import print_json, print_report


class ArmChoice(str, enum.Enum):
    SOLUTION = "solution"
    REFERENCE = "reference"


class MetricSetChoice(str, enum.Enum):
    BASIC = "basic"
    DETAILED = "detailed"
    FULL = "full"


def profile(
    problem: ProblemName,
    solution: OneSolution = None,
    case: Annotated[
        str | None, typer.Option("-c", "--case", help="A case. Default: full.", autocompletion=completion.cases)
    ] = None,
    arm: Annotated[
        ArmChoice, typer.Option(help="reference: the problem's own Model instead of a solution.")
    ] = ArmChoice.SOLUTION,
    kernel: Annotated[
        str | None, typer.Option(help="Count only kernels whose name matches this regular expression.")
    ] = None,
    launches: Annotated[int, typer.Option(min=1, help="Count so many launches of a call, the first ones.")] = 20,
    metrics: Annotated[
        MetricSetChoice, typer.Option("--set", help="Nsight Compute's set of sections, beside those of the table.")
    ] = MetricSetChoice.DETAILED,
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
    from harness.reports import profile_json, profile_report
    from harness.tools import choose_target
    from harness.workspace.workspace import find_workspace

    target = choose_target(find_workspace(Path.cwd()), problem, solution, case, arm is ArmChoice.REFERENCE, False)
    with looking(quiet) as say:
        from harness.tools import CounterRequest, inspection, run_profile

        asked = inspection(target, "ncu", "profiles", output, results, timeout)
        found = run_profile(asked, CounterRequest(metrics.value, kernel, launches), say)
    if json:
        print_json(profile_json(found))
    else:
        print_report(profile_report(found))
