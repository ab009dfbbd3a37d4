"""Options that several commands have, worded once."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion


class BackendChoice(str, enum.Enum):
    AUTO = "auto"
    CUDA = "cuda"
    SIM = "sim"


Problem = Annotated[
    str,
    typer.Option(
        "-p",
        "--problem",
        help="A folder name under problems/.",
        show_default=False,
        autocompletion=completion.problems,
    ),
]
Solutions = Annotated[
    list[str] | None,
    typer.Option(
        "-s",
        "--solution",
        help="A folder name under solutions/PROBLEM/; repeatable. Default: all.",
        autocompletion=completion.solutions,
    ),
]
Cases = Annotated[
    list[str] | None,
    typer.Option("-c", "--case", help="A case; repeatable. Default: all.", autocompletion=completion.cases),
]
Backend = Annotated[BackendChoice, typer.Option(help="auto: the GPU where there is one, else the simulator.")]
ConfigName = Annotated[
    str | None,
    typer.Option(
        "--config", help="A name in configs/ or a file.", show_default=False, autocompletion=completion.configs
    ),
]
Seed = Annotated[int | None, typer.Option(help="Repeat a run's inputs. Default: drawn at run time.")]
Timing = Annotated[bool, typer.Option("--timing/--no-timing", help="Measure speed after correctness.")]
LockClocks = Annotated[
    int | None,
    typer.Option(
        "--lock-clocks", min=1, metavar="MHZ", help="Lock the SM clock on the GPU, reset it afterwards; needs root."
    ),
]
Nvcc = Annotated[
    bool, typer.Option("--nvcc/--no-nvcc", help="Beside the simulator, also compile for a GPU where nvcc is installed.")
]
Sanitize = Annotated[
    bool, typer.Option("--sanitize", help="Simulator: look at every access of a kernel; several times slower.")
]
MinOwnShare = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="On a GPU: how much of its time own kernels must take, as 0.5 for a half."),
]
Results = Annotated[Path | None, typer.Option(help="Folder of the journals. Default: results/ of the workspace.")]
AsJson = Annotated[bool, typer.Option("--json", help="One record a line on stdout, exactly the journal's.")]
NoSource = Annotated[bool, typer.Option("--no-source", help="Keep no text of the solutions in the records.")]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", min=1, help="Builds at once. Default: the config's, or half of the cores for builds."),
]
MaxFailures = Annotated[int | None, typer.Option(min=1, help="Stop after so many verdicts other than expected.")]
LastFailed = Annotated[
    bool, typer.Option("--last-failed", help="Only solutions whose newest verdict here is not the expected one.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Keep results of unchanged sources, cases, config and environment.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List what would be evaluated, and leave.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress on stderr.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Details of failures, and remarks.")]

# Arguments of the commands that look things up; their completions come with them.
ProblemName = Annotated[
    str, typer.Argument(help="A folder name under problems/.", show_default=False, autocompletion=completion.problems)
]
SolutionName = Annotated[
    str,
    typer.Argument(
        help="A folder name under solutions/PROBLEM/.", show_default=False, autocompletion=completion.solutions
    ),
]
EvaluationId = Annotated[
    str,
    typer.Argument(
        help="An evaluation's identifier, or its beginning.",
        show_default=False,
        autocompletion=completion.evaluations,
    ),
]
RunName = Annotated[
    str | None, typer.Option("--run", help="A folder name under results/.", autocompletion=completion.runs)
]
