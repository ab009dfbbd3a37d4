"""The findings of compute-sanitizer in one arm's kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SanitizerTool = Literal["memcheck", "racecheck", "initcheck", "synccheck"]
SANITIZER_TOOLS: tuple[SanitizerTool, ...] = ("memcheck", "racecheck", "initcheck", "synccheck")

WHAT_IT_FINDS: dict[SanitizerTool, str] = {
    "memcheck": "accesses out of bounds or misaligned, errors of the device and of calls",
    "racecheck": "accesses to shared memory that no barrier orders",
    "initcheck": "reads of device memory that nobody has written",
    "synccheck": "barriers that some threads don't reach",
}


@dataclass(frozen=True)
class SanitizerFinding:
    """Reports of one tool that are alike (kind, kernel, place) but for the thread; the numbers are the first one's.

    What the tool didn't say is None. `source` is 'file:line'; `text` the source's line, where it is at hand. `is_own`:
    in a kernel of the solution's, or in a call that it made.
    """

    tool: SanitizerTool
    kind: str
    kernel: str | None
    is_own: bool
    count: int = 1
    source: str | None = None
    text: str | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    address: int | None = None
    nbytes: int | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolRun:
    """One tool over the arm's calls. `complaint` says what kept it from looking to the end; it is None where it did."""

    tool: SanitizerTool
    seconds: float
    findings: tuple[SanitizerFinding, ...]
    errors: int | None
    """The tool's own count; None where it wrote no summary."""
    unprinted: int
    """The errors that it left out, beyond a hundred."""
    log: str
    """Path of all that the tool said."""
    complaint: str | None = None


@dataclass(frozen=True)
class Sanitizing:
    """The sanitizing of an arm. `solution` is None for the reference."""

    problem: str
    case: str
    solution: str | None
    gpu: str
    runs: tuple[ToolRun, ...]
    protections: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[SanitizerFinding, ...]:
        """Findings that the arm has to answer for."""
        return tuple(finding for run in self.runs for finding in run.findings if finding.is_own)

    @property
    def foreign(self) -> tuple[SanitizerFinding, ...]:
        """Findings in kernels of torch, cuDNN, cuBLAS and their like."""
        return tuple(finding for run in self.runs for finding in run.findings if not finding.is_own)

    @property
    def is_whole(self) -> bool:
        """True where every tool looked to the end."""
        return all(run.complaint is None for run in self.runs)
