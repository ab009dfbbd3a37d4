"""The runtime's account of what it has seen, as findings; harness/model/simulator_findings.py lists their kinds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.cudasim import SourceLine, feeds_an_index, is_row_of_shared_array, source_line, with_names
from harness.sandbox.wire.device import Account, Finding

RUNTIMES_KIND = {"index-overflow": "signed-overflow", "array-row-overrun": "array-index-out-of-bounds"}
"""The runtime's name for a kind that only the source's text tells from it."""

_OF_THE_HOST = ("launch-error", "host-pointer", "freed-pointer", "too-much-work", "beyond-simulator", "stream-order")
"""Kinds that no thread of a kernel is to blame for."""

HARMLESS_FINDINGS = {"signed-overflow": "index-overflow", "array-row-overrun": "array-index-out-of-bounds"}
"""Remarks that only the source's text tells from a fault."""


def kind_by_text(runtimes_kind: str, text: str, line: int) -> str:
    """Decide what a finding of the runtime's is, by the text that it happened in."""
    if runtimes_kind == "signed-overflow" and feeds_an_index(text, line):
        return "index-overflow"
    if runtimes_kind == "array-index-out-of-bounds" and is_row_of_shared_array(text, line):
        return "array-row-overrun"
    return runtimes_kind


def counted_as(finding: Finding) -> str:
    """Return the name that the runtime's totals have for it: with its line if that decides what it is."""
    kind = RUNTIMES_KIND.get(finding.kind, finding.kind)
    is_told_by_its_line = kind in RUNTIMES_KIND.values() and finding.line
    return f"{kind} at {finding.file}:{finding.line}: {finding.code or ''}" if is_told_by_its_line else kind


@dataclass(frozen=True)
class RuntimeReport:
    """The runtime's findings since the last report, and its account of all. `ran`: kernels and operators of torch by
    name, since the trace began, how often, with how many elements, in how many blocks, and the place of the latest
    among all; None where none has begun."""

    findings: tuple[Finding, ...]
    launches: int
    ran: Mapping[str, tuple[int, int, int, int]] | None
    account: Account


def parse_report(report: str) -> RuntimeReport:
    """Read the runtime's JSON."""
    data = json.loads(report)
    findings = _one_a_line(_finding(entry, data["sources"]) for entry in data["findings"])
    totals = data["totals"]
    account = Account(int(totals["launches"]), totals["findings"], int(totals["traces"]), int(totals["atomics"]))
    ran = data["ran"]
    by_name = None if ran is None else {name: (int(a), int(b), int(c), int(d)) for name, (a, b, c, d) in ran.items()}
    return RuntimeReport(findings, int(data["launches"]), by_name, account)


def _finding(entry: dict[str, Any], sources: Mapping[str, str]) -> Finding:  # Any: JSON that the runtime wrote
    place = SourceLine(entry["file"], entry["line"]) if entry["line"] else source_line(_instructions(entry["trace"]))
    in_kernel = entry["kind"] not in _OF_THE_HOST
    x, y, z = entry["block"]
    tx, ty, tz = entry["thread"]
    text = sources.get(place.file, "") if place else ""
    detail = with_names(entry["detail"], text, entry["kernel"])
    return Finding(
        kind=kind_by_text(entry["kind"], text, place.line) if place else entry["kind"],
        detail=detail.replace(" @OTHER@", _other_place(entry["other"], place)),
        kernel=entry["kernel"] or None,
        file=place.file if place else None,
        line=place.line if place else None,
        block=(x, y, z) if in_kernel else None,
        thread=(tx, ty, tz) if in_kernel else None,
        count=entry["count"],
        code=entry["code"] or None if entry["line"] else _line_of(text, place),
    )


def _one_a_line(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Keep the first of each kind and place, with the count of all: a line of a kernel makes several instructions."""
    first: dict[object, Finding] = {}
    for finding in findings:
        place = (finding.kind, finding.kernel, finding.file, finding.line or finding.detail)
        known = first.get(place)
        first[place] = replace(known, count=known.count + finding.count) if known else finding
    return tuple(first.values())


def _instructions(places: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(place["library"], place["offset"]) for place in places]


def _other_place(trace: Sequence[dict[str, Any]], place: SourceLine | None) -> str:
    other = source_line(_instructions(trace))
    if other is None:
        return ""
    return f" at line {other.line}" if place and other.file == place.file else f" at {other.file}:{other.line}"


def _line_of(text: str, place: SourceLine | None) -> str | None:
    lines = text.splitlines()
    return lines[place.line - 1].strip() if place and 0 < place.line <= len(lines) else None
