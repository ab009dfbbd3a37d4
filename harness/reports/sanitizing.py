"""What compute-sanitizer found, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.codec import encode
from harness.records.sanitizing import WHAT_IT_FINDS, SanitizerFinding, Sanitizing, ToolRun
from harness.reports.blocks import Block, Column, Line, Prose, Report, Section, Span, Table, Tone, number

_NAME_CHARS = 200
_TEXT_CHARS = 160


def sanitizing_json(sanitizing: Sanitizing) -> dict[str, Any]:
    """The record, with its conclusion."""
    record: dict[str, Any] = encode(sanitizing)
    return {**record, "is_clean": sanitizing.is_whole and not sanitizing.own}


def sanitizing_report(sanitizing: Sanitizing) -> Report:
    """A row for each tool, then each finding."""
    return Report(list(_parts(sanitizing)))


def _parts(sanitizing: Sanitizing) -> Iterator[Block]:
    name = f"{sanitizing.problem}/{sanitizing.solution or 'reference'}"
    answer = Span("clean", "good") if sanitizing.is_whole else Span("not looked through", "unsure")
    if sanitizing.own:
        answer = Span("has faults", "bad")
    yield Line((Span(name, "strong"), " ", answer, f", case {sanitizing.case}, on {sanitizing.gpu}"))
    columns = (Column("tool"), number("errors"), number("s"), Column("looks for"))
    yield Table(columns, [(run.tool, _errors(run), f"{run.seconds:.0f}", _remark(run)) for run in sanitizing.runs])
    for finding in sanitizing.own:
        yield _finding(finding, "bad")
    if sanitizing.foreign:
        yield Line("not in the solution's own kernels, and not held against it:", "faint")
        for finding in sanitizing.foreign:
            yield _finding(finding, "faint")
    yield Line((Span("logs: ", "faint"), ", ".join(run.log for run in sanitizing.runs)))


def _errors(run: ToolRun) -> Span:
    if run.errors is None:
        return Span("?", "unsure")
    return Span(f"{run.errors:,}", "bad" if run.errors else "good")


def _remark(run: ToolRun) -> Span:
    if run.complaint is not None:
        return Span(run.complaint, "unsure")
    left = f"; {run.unprinted:,} more than it lists" if run.unprinted else ""
    return Span(f"{WHAT_IT_FINDS[run.tool]}{left}", "faint")


def _finding(finding: SanitizerFinding, tone: Tone) -> Section:
    size = f" of {finding.nbytes} bytes" if finding.nbytes else ""
    times = f"  ×{finding.count:,}" if finding.count > 1 else ""
    title = (Span(f"{finding.tool}: {finding.kind}{size}", tone), Span(times, "strong"))
    return Section(title, list(_places(finding)))


def _places(finding: SanitizerFinding) -> Iterator[Line | Prose]:
    where = f" at {finding.source}" if finding.source else ""
    if finding.kernel or where:
        of_kernel = f" in {finding.kernel[:_NAME_CHARS]}" if finding.kernel else ""
        yield Line(f"{of_kernel}{where}".strip())
    if finding.text:
        yield Prose(f"    {finding.text[:_TEXT_CHARS].strip()}", "strong")
    if finding.thread and finding.block:
        first = "first " if finding.count > 1 else ""
        yield Line(f"{first}by thread {_three(finding.thread)} of block {_three(finding.block)}")
    for detail in finding.details:
        yield Line(detail, "faint")


def _three(numbers: tuple[int, int, int]) -> str:
    return f"({', '.join(str(number) for number in numbers)})"
