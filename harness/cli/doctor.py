"""`harness doctor`: what this machine has, what it lacks, and the remedy for each."""

from __future__ import annotations

import json as json_module
from typing import Annotated

import typer

from harness.cli import exit_codes


def doctor(
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Look at torch, CUDA, compilers, GPU, memory, disk, what confines workers, and NVIDIA's tools.

    Exit code 3 where no backend can run.
    """
    from harness.executors.diagnosis import examine
    from harness.instruments.toolbox import examine_tools

    findings = [*examine(), *examine_tools()]
    usable = [finding.name for finding in findings if finding.name.startswith("backend") and finding.is_good]
    if json:
        rows = [{"name": f.name, "state": f.state, "detail": f.detail, "remedy": f.remedy} for f in findings]
        typer.echo(json_module.dumps({"findings": rows, "usable": usable}, indent=2))
    else:
        from rich.console import Console

        from harness.reports.doctor import findings_table

        Console().print(findings_table(findings))
    raise typer.Exit(exit_codes.PASSED if usable else exit_codes.MACHINE)
