"""The view of one arm by NVIDIA's instruments: counters of its kernels, when they ran, and what compute-sanitizer finds
in them. It decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Stall:
    """A reason why warps waited. `share`: of the time that a warp spends from one instruction to the next, from 0 to
    1."""

    reason: str
    share: float


@dataclass(frozen=True)
class KernelCounters:
    """One launch, as Nsight Compute counted it. It is None where the counter isn't in the chosen set, or not on this
    GPU.

    Percentages are of what the GPU sustains at its best. `compute_percent` is that of the busiest of a
    multiprocessor's pipes. Occupancy is in warps: those that were there on average (achieved), and as many as the
    launch's resources allow (theoretical).
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    duration_ns: float
    dram_bytes_per_s: float | None
    dram_percent: float | None
    dram_read_bytes: float | None
    dram_written_bytes: float | None
    l2_hit_percent: float | None
    compute_percent: float | None
    tensor_percent: float | None
    achieved_occupancy_percent: float | None
    theoretical_occupancy_percent: float | None
    occupancy_limits: tuple[str, ...]
    """The resources that let no more blocks be on a multiprocessor; several where they bind alike."""
    registers_per_thread: int | None
    shared_bytes_per_block: int | None
    local_requests: int | None
    """Accesses of warps to local memory: spilled registers, arrays with indices of run time."""
    bank_conflicts: int | None
    """Extra passes over shared memory, most of them because lanes of a warp wanted different words of one bank."""
    shared_passes: int | None
    """All passes over shared memory, those included."""
    stalls: tuple[Stall, ...]
    """The longest first."""
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    """Bytes of spilled registers per thread, as the compiler counted them; None where the solution didn't compile the
    kernel."""


@dataclass(frozen=True)
class TimelineRow:
    """All launches of one kernel, or all copies or fills of one kind."""

    name: str
    kind: Literal["kernel", "copy", "fill"]
    launches: int
    total_ns: float
    shortest_ns: float
    longest_ns: float


@dataclass(frozen=True)
class DeviceTimeline:
    """The record by CUPTI of what the device ran during some calls in a row. Rows: the longest in total first."""

    calls: int
    rows: tuple[TimelineRow, ...]
    span_ns: float
    """The time from the first beginning to the last end."""
    busy_ns: float
    """The part of it with something running."""
    gaps: int
    longest_gap_ns: float

    @property
    def idle_ns(self) -> float:
        return self.span_ns - self.busy_ns


@dataclass(frozen=True)
class Profile:
    """The profile of an arm. `solution` is None for the reference. `kernels` are in the order of their launches,
    `files` by what they are."""

    problem: str
    case: str
    solution: str | None
    gpu: str
    kernels: tuple[KernelCounters, ...]
    timeline: DeviceTimeline
    files: dict[str, str]
    protections: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


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
