"""What the simulator can see while a kernel runs: the closed list of findings, and what each means."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from harness.backends.base import Finding

Verdict = Literal["memory_error", "runtime_error"]


@dataclass(frozen=True)
class FindingKind:
    """One line of the list. `verdict` is what a fault leads to; a remark (None) leads to none."""

    meaning: str
    verdict: Verdict | None

    @property
    def severity(self) -> Literal["fault", "remark"]:
        return "remark" if self.verdict is None else "fault"


FINDING_KINDS: Mapping[str, FindingKind] = {
    "illegal-address": FindingKind("an access outside every device allocation", "memory_error"),
    "host-pointer": FindingKind("a kernel was given memory that only the host can read", "memory_error"),
    "shared-out-of-bounds": FindingKind("an access outside the block's shared memory", "memory_error"),
    "misaligned-address": FindingKind("a vector access not aligned to its size", "memory_error"),
    "stack-overflow": FindingKind("more local memory than a thread has", "memory_error"),
    "launch-error": FindingKind("a launch failed and nobody looked", "runtime_error"),
    "barrier-deadlock": FindingKind("threads of a block wait for each other for ever", "runtime_error"),
    "device-assert": FindingKind("an assertion in a kernel failed", "runtime_error"),
    "integer-divide-by-zero": FindingKind("an integer was divided by zero", "runtime_error"),
    "warp-inactive-lane": FindingKind("a shuffle reads a lane that takes no part", "runtime_error"),
    "warp-mask": FindingKind("a lane is not in the mask that it passes", "runtime_error"),
    "barrier-after-exit": FindingKind("threads exited before a barrier of their block", None),
    "barrier-divergence": FindingKind("threads of a block met at different barriers", None),
}


@dataclass(frozen=True)
class Report:
    """The runtime's account since the last one. `kernels` and `operators` (of torch) count runs by name."""

    findings: tuple[Finding, ...]
    launches: int
    kernels: Mapping[str, int]
    operators: Mapping[str, int]


def parse_report(report: str) -> Report:
    """From the runtime's JSON."""
    data = json.loads(report)
    findings = tuple(_finding(entry) for entry in data["findings"])
    return Report(findings, int(data["launches"]), data["kernels"], data["operators"])


def _finding(entry: dict[str, Any]) -> Finding:  # Any: just parsed from JSON that the runtime wrote
    file, line = (entry["file"], entry["line"]) if entry["line"] else _source_line(entry)
    in_kernel = entry["kind"] not in ("launch-error", "host-pointer")
    x, y, z = entry["block"]
    tx, ty, tz = entry["thread"]
    return Finding(
        kind=entry["kind"],
        detail=entry["detail"],
        kernel=entry["kernel"] or None,
        file=file or None,
        line=line or None,
        block=(x, y, z) if in_kernel else None,
        thread=(tx, ty, tz) if in_kernel else None,
        count=entry["count"],
    )


def _source_line(entry: dict[str, Any]) -> tuple[str | None, int | None]:
    """The line of the instruction that faulted, from the extension's debug information if addr2line is there."""
    if "library" not in entry:
        return None, None
    command = ["addr2line", "-i", "-e", entry["library"], hex(entry["offset"])]
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None, None
    for frame in output.splitlines():  # innermost first; an atomic is inlined from our headers
        file, _, number = frame.partition(" ")[0].rpartition(":")
        if number.isdigit() and int(number) and not _is_ours(Path(file)):
            return file, int(number)
    return None, None


def _is_ours(file: Path) -> bool:
    return file.parent.name == "sim" and file.suffix == ".h"
