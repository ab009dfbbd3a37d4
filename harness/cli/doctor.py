"""`harness doctor`: what this machine has, what it lacks, and the remedy for each; and what its GPU can do at best."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from harness import reports, tools
from harness.cli import exit_codes
from harness.cli.options import JsonFlag
from harness.cli.printing import print_json, print_report
from harness.errors import UsageError


def doctor(
    roofline: Annotated[
        bool, typer.Option("--roofline", help="The GPU's ceilings instead: rates of memory and arithmetic.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure the ceilings anew, though they are known.")] = False,
    json: JsonFlag = False,
) -> None:
    """Look at torch, CUDA, compilers, GPU, memory, disk, what confines workers, and NVIDIA's tools.

    --roofline: how fast this GPU reads, writes, copies and multiplies, measured once per GPU and driver. Exit code 3
    where no backend can run, or no ceilings can be measured.
    """
    if again and not roofline:
        raise UsageError("--again measures the GPU's ceilings anew: say --roofline, too")
    if roofline:
        _show_ceilings(again, json)
    else:
        _show_findings(json)


def _show_findings(json: bool) -> None:
    findings = tools.examine()
    usable = [finding.name for finding in findings if finding.name.startswith("backend") and finding.state == "good"]
    if json:
        print_json({"findings": [asdict(finding) for finding in findings], "usable": usable}, indent=2)
    else:
        print_report(reports.findings_table(findings))
    raise typer.Exit(exit_codes.PASSED if usable else exit_codes.MACHINE)


def _show_ceilings(again: bool, json: bool) -> None:
    from rich.console import Console

    with Console(stderr=True).status("importing torch") as status:
        ceilings, was_cached, path = tools.find_ceilings(again, status.update)
    if json:
        print_json(reports.ceilings_json(ceilings, was_cached, str(path)), indent=2)
    else:
        print_report(reports.ceilings_table(ceilings, was_cached))
