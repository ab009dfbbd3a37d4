"""Options that several commands have, worded once."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer


class BackendChoice(str, enum.Enum):
    AUTO = "auto"
    CUDA = "cuda"
    SIM = "sim"


Problem = Annotated[str, typer.Option("-p", "--problem", help="A folder name under problems/.", show_default=False)]
Solutions = Annotated[
    list[str] | None,
    typer.Option("-s", "--solution", help="A folder name under solutions/PROBLEM/; repeatable. Default: all."),
]
Cases = Annotated[list[str] | None, typer.Option("-c", "--case", help="A case; repeatable. Default: all.")]
Backend = Annotated[BackendChoice, typer.Option(help="auto: the GPU where there is one, else the simulator.")]
ConfigName = Annotated[str | None, typer.Option("--config", help="A name in configs/ or a file.", show_default=False)]
Seed = Annotated[int | None, typer.Option(help="Repeat a run's inputs. Default: drawn at run time.")]
Timing = Annotated[bool, typer.Option("--timing/--no-timing", help="Measure speed after correctness.")]
Results = Annotated[Path | None, typer.Option(help="Folder of the journals. Default: results/ of the workspace.")]
AsJson = Annotated[bool, typer.Option("--json", help="One record a line on stdout, exactly the journal's.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress on stderr.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Details of failures, and remarks.")]
