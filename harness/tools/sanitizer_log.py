"""Reading what compute-sanitizer writes: blocks of lines, a report each, and a summary at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from harness.model.instruments import SanitizerFinding, SanitizerTool

_PREFIX = "========="
_SKIPPED = re.compile(
    r"COMPUTE-SANITIZER|\w+ SUMMARY:|Error: process didn't terminate|Target application returned an error|LEAK SUMMARY"
)
_SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) errors?$")
_UNPRINTED = re.compile(r"ERROR SUMMARY: (\d+) errors? (?:was|were) not printed")
_HAZARDS = re.compile(r"RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?, (\d+) warnings?\)")
_PLACE = re.compile(
    r"\bat (?P<kernel>\S.*?)\+0x[0-9a-f]+(?: in (?P<source>\S.*?:\d+))?(?: \[(?P<hazards>\d+) hazards?\])?$"
)
_THREAD = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
_ADDRESS = re.compile(r"(?:Access (?:to|at)|Address) 0x([0-9a-f]+)")
_SIZE = re.compile(r" of size (\d+) bytes?")
_RACE = re.compile(r"(?:Error|Warning|Info): Race reported between ")
_ACCESS = re.compile(r"\b(?P<kind>Write|Read|Atomic\w*) access at ")
_FRAME = "Host Frame:"
_PYTHON_FRAME = re.compile(r" in (?P<source>\S+\.py:\d+)$")
_API = re.compile(r"Program hit (?P<error>\w+) \(error \d+\) due to (?P<why>\".*\") on CUDA API call to (?P<call>\w+)")
_INTERNAL = re.compile(
    r"Internal Sanitizer Error|Sanitizer Error|Device not supported|Unable to|Error: (No|Failed|Could not|Target)", re.I
)
_AFTERMATH = {
    *("cudaErrorLaunchFailure", "cudaErrorIllegalAddress", "cudaErrorMisalignedAddress", "cudaErrorIllegalInstruction"),
    *("cudaErrorInvalidAddressSpace", "cudaErrorHardwareStackError", "cudaErrorInvalidPc", "cudaErrorAssert"),
    *("CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_ADDRESS", "CUDA_ERROR_MISALIGNED_ADDRESS"),
}
"""Errors that every call returns after a kernel has failed (cudaError_t's 'sticky' ones)."""


class Reported(NamedTuple):
    """Reports that are alike but for the thread, before anybody says whose they are: the kernel is named by its symbol.
    `frames`: the host's call stack, 'function in file:line' each."""

    finding: SanitizerFinding
    frames: tuple[str, ...] = ()


@dataclass(frozen=True)
class SanitizerLog:
    """`total`: what the tool counted; None where it wrote no summary, so didn't get to the end. `unprinted`: those of
    them that it left out, beyond a hundred. `complaints`: what it says of its own troubles."""

    reported: tuple[Reported, ...]
    total: int | None
    unprinted: int
    complaints: tuple[str, ...]


def read_log(text: str, tool: SanitizerTool) -> SanitizerLog:
    """Read the file that --log-file names: the program's own output doesn't belong in it."""
    found: list[Reported] = []
    complaints: list[str] = []
    for block in _blocks(text):
        if _INTERNAL.search(block[0]) and not _RACE.search(block[0]):
            complaints.append(" ".join(block))
        elif report := _report(block, tool):
            found.append(report)
    has_failed = any(report.finding.kernel is not None for report in found)
    kept = [report for report in found if not (has_failed and _is_aftermath(report))]
    unprinted = _UNPRINTED.search(text)
    return SanitizerLog(_together(kept), _total(text), int(unprinted[1]) if unprinted else 0, tuple(complaints))


def _blocks(text: str) -> Iterator[list[str]]:
    """Lines of a report without their prefix; an empty one, and each that isn't indented, begins another."""
    block: list[str] = []
    for line in text.splitlines():
        if not line.startswith(_PREFIX):
            continue
        content = line[len(_PREFIX) :]
        begins = not content.startswith("     ")
        if begins and block:
            yield block
            block = []
        if content.strip() and not (begins and _SKIPPED.match(content.strip())):
            block.append(content.strip())
    if block:
        yield block


def _report(block: Sequence[str], tool: SanitizerTool) -> Reported | None:
    """Return None for what names neither a kernel nor a call."""
    headline, *rest = block
    frames = tuple(line.removeprefix(_FRAME).strip() for line in rest if line.startswith(_FRAME))
    lines = [line for line in rest if not line.startswith((_FRAME, "Saved host backtrace"))]
    if match := _API.search(headline):
        # frames of Python come behind all native ones, the innermost first
        kind, innermost = f"{match['error']} from {match['call']}", _found(_PYTHON_FRAME, frames)
        line = innermost and innermost["source"]
        return Reported(SanitizerFinding(tool, kind, None, False, source=line, details=(match["why"],)), frames)
    found = _race([headline, *lines], tool) if _RACE.search(headline) else _fault(headline, lines, tool)
    return Reported(found, frames) if found else None


def _found(pattern: re.Pattern[str], lines: Iterable[str]) -> re.Match[str] | None:
    """Return the first match."""
    return next((match for line in lines if (match := pattern.search(line))), None)


def _fault(headline: str, lines: Sequence[str], tool: SanitizerTool) -> SanitizerFinding | None:
    place, size = _found(_PLACE, lines), _SIZE.search(headline)
    thread, address = (_found(pattern, reversed(lines)) for pattern in (_THREAD, _ADDRESS))
    numbers: Any = tuple(map(int, thread.groups())) if thread else ()
    return place and SanitizerFinding(
        tool=tool,
        kind=_SIZE.sub("", headline).rstrip("."),
        kernel=place["kernel"],
        is_own=False,
        source=place["source"],
        block=numbers[3:] or None,
        thread=numbers[:3] or None,
        address=int(address[1], 16) if address else None,
        nbytes=int(size[1]) if size else None,
        details=tuple(line for line in lines if not (_PLACE.search(line) or _THREAD.search(line))),
    )


def _race(lines: Sequence[str], tool: SanitizerTool) -> SanitizerFinding | None:
    """A line for each of the accesses; the last of those that go together says how many hazards they make."""
    accesses = [
        (access["kind"].lower(), place)
        for line in lines
        if (access := _ACCESS.search(line)) and (place := _PLACE.search(line, access.end() - len("at ")))
    ]
    if not accesses:
        return None
    kinds = [kind for kind, _ in accesses]
    return SanitizerFinding(
        tool=tool,
        kind=f"Race between a {' and a '.join(kinds)}",
        kernel=accesses[0][1]["kernel"],
        is_own=False,
        source=accesses[0][1]["source"],
        count=sum(int(place["hazards"] or 0) for _, place in accesses) or 1,
        details=tuple(f"{kind} at {place['source'] or 'an unknown line'}" for kind, place in accesses),
    )


def _is_aftermath(report: Reported) -> bool:
    return report.finding.kernel is None and report.finding.kind.split(" ")[0] in _AFTERMATH


def _together(reports: Sequence[Reported]) -> tuple[Reported, ...]:
    alike: dict[tuple[str, str | None, str | None], Reported] = {}
    for report in reports:
        found = report.finding
        first = alike.setdefault((found.kind, found.kernel, found.source), report)
        if first is not report:
            counted = replace(first.finding, count=first.finding.count + found.count)
            alike[found.kind, found.kernel, found.source] = first._replace(finding=counted)
    return tuple(alike.values())


def _total(text: str) -> int | None:
    """The first of two summaries: the second says how many weren't printed."""
    for line in text.splitlines():
        content = line.removeprefix(_PREFIX).strip()
        if match := _SUMMARY.match(content):
            return int(match[1])
        if match := _HAZARDS.match(content):
            return int(match[1]) + int(match[2])
    return None
