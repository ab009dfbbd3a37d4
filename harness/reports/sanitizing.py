"""What compute-sanitizer found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.records.record import as_json
from harness.records.sanitizing import WHAT_IT_FINDS, SanitizerFinding, Sanitizing, ToolRun
from harness.reports.untrusted import one_line

_NAME_CHARS = 200
_TEXT_CHARS = 160


def sanitizing_json(sanitizing: Sanitizing) -> dict[str, Any]:
    """The record, with its conclusion."""
    record: dict[str, Any] = as_json(sanitizing)
    return {**record, "is_clean": sanitizing.is_whole and not sanitizing.own}


def sanitizing_report(sanitizing: Sanitizing) -> RenderableType:
    """A line for each tool, then each finding."""
    return Group(*_parts(sanitizing))


def _parts(sanitizing: Sanitizing) -> Iterator[RenderableType]:
    name = one_line(f"{sanitizing.problem}/{sanitizing.solution or 'reference'}")
    words = ("clean", "green") if sanitizing.is_whole else ("not looked through", "yellow")
    if sanitizing.own:
        words = ("has faults", "red")
    on = f", case {one_line(sanitizing.case)}, on {one_line(sanitizing.gpu)}"
    yield Text.assemble((name, "bold"), " ", words, on)
    yield _tools(sanitizing)
    for finding in sanitizing.own:
        yield from _finding(finding, "red")
    if sanitizing.foreign:
        yield Text("not in the solution's own kernels, and not held against it:", style="dim")
        for finding in sanitizing.foreign:
            yield from _finding(finding, "dim")
    yield Text.assemble(("logs: ", "dim"), one_line(", ".join(run.log for run in sanitizing.runs)), overflow="fold")


def _tools(sanitizing: Sanitizing) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("tool", no_wrap=True)
    table.add_column("errors", justify="right", no_wrap=True)
    table.add_column("s", justify="right", no_wrap=True)
    table.add_column("looks for", overflow="fold")
    for run in sanitizing.runs:
        table.add_row(run.tool, _errors(run), f"{run.seconds:.0f}", _remark(run))
    return table


def _errors(run: ToolRun) -> Text:
    if run.errors is None:
        return Text("?", style="yellow")
    return Text(f"{run.errors:,}", style="red" if run.errors else "green")


def _remark(run: ToolRun) -> Text:
    if run.complaint is not None:
        return Text(one_line(run.complaint), style="yellow")
    left = f"; {run.unprinted:,} more than it lists" if run.unprinted else ""
    return Text(f"{WHAT_IT_FINDS[run.tool]}{left}", style="dim")


def _finding(finding: SanitizerFinding, style: str) -> Iterator[RenderableType]:
    size = f" of {finding.nbytes} bytes" if finding.nbytes else ""
    times = f"  ×{finding.count:,}" if finding.count > 1 else ""
    yield Text.assemble((f"{finding.tool}: {one_line(finding.kind)}{size}", style), (times, "bold"))
    yield Padding(Group(*_places(finding)), (0, 0, 0, 2))


def _places(finding: SanitizerFinding) -> Iterator[Text]:
    where = f" at {one_line(finding.source)}" if finding.source else ""
    if finding.kernel or where:
        of_kernel = f" in {one_line(finding.kernel)[:_NAME_CHARS]}" if finding.kernel else ""
        yield Text(f"{of_kernel}{where}".strip())
    if finding.text:
        yield Text(f"    {one_line(finding.text)[:_TEXT_CHARS]}", style="bold")
    if finding.thread and finding.block:
        first = "first " if finding.count > 1 else ""
        yield Text(f"{first}by thread {_three(finding.thread)} of block {_three(finding.block)}")
    for detail in finding.details:
        yield Text(one_line(detail), style="dim")


def _three(numbers: tuple[int, int, int]) -> str:
    return f"({', '.join(str(number) for number in numbers)})"
