"""Nsight Compute: how it is called, and which of its thousand counters tell most."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.model.instruments import KernelCounters, Stall

MetricSet = Literal["basic", "detailed", "full"]

_SECTIONS = (
    *("SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats", "ComputeWorkloadAnalysis"),
    *("MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables"),
)
"""The sections that the table needs. They are used instead of metrics: NVIDIA's files know each metric's name on each
GPU, and a metric that a GPU lacks ends the tool."""
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(?P<reason>\w+)_per_issue_active\.ratio")
_ISSUING = "selected"
_TENSOR = re.compile(r"sm__(inst_executed_)?pipe_tensor\w*\.avg\.pct_of_peak_sustained_active")
_LIMIT = re.compile(r"launch__occupancy_limit_(?P<resource>\w+)")
_RESOURCES = {
    "blocks": "blocks per SM",
    "warps": "warps per SM",
    "registers": "registers",
    "shared_mem": "shared memory",
    "barriers": "barriers",
}
_FIRST_COLUMN = '"ID"'


@dataclass(frozen=True)
class CounterRequest:
    """A request to count. `kernel`: a regular expression for kernels' names; `launches`: so many at most."""

    metrics: MetricSet
    kernel: str | None
    launches: int


def counting_command(ncu: Path, counting: CounterRequest, report: Path, log: Path, sources: Path) -> list[str]:
    """Return what goes before the program's command; it counts between cudaProfilerStart() and cudaProfilerStop().

    Clocks are left as they are: fixed ones would outlast a tool that is killed, and aren't those of the timing.
    `sources`: a folder with the files that line numbers name.
    """
    command = [str(ncu), "--profile-from-start", "off", "--clock-control", "none", "--set", counting.metrics]
    for section in _SECTIONS:
        command += ["--section", section]
    command += ["--launch-count", str(counting.launches)]
    if counting.kernel is not None:
        command += ["--kernel-name-base", "demangled", "--kernel-name", f"regex:{counting.kernel}"]
    command += ["--import-source", "yes", "--source-folders", str(sources)]
    return [*command, "--force-overwrite", "--export", str(report), "--log-file", str(log)]


def reading_command(ncu: Path, report: Path) -> list[str]:
    """Return a command that prints what read_counters() reads: all numbers, in base units, with kernels' symbols."""
    return [
        *(str(ncu), "--import", str(report), "--csv", "--page", "raw"),
        *("--print-units", "base", "--print-kernel-base", "mangled"),
    ]


def read_counters(text: str) -> tuple[KernelCounters, ...]:
    """A row for each launch; kernels are named as the text names them. Empty where no kernel was counted."""
    lines = text.splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith(_FIRST_COLUMN)), len(lines))
    rows = csv.DictReader(lines[start:])
    return tuple(_counters(row) for number, row in enumerate(rows) if number > 0)  # the first one holds the units


def _counters(row: Mapping[str, str]) -> KernelCounters:
    numbers = {name: value for name, text in row.items() if (value := _number(text)) is not None}
    return KernelCounters(
        kernel=row["Kernel Name"],
        grid=_three(row["Grid Size"]),
        block=_three(row["Block Size"]),
        duration_ns=numbers["gpu__time_duration.sum"],
        dram_bytes_per_s=numbers.get("dram__bytes.sum.per_second"),
        dram_percent=numbers.get("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
        dram_read_bytes=numbers.get("dram__bytes_read.sum"),
        dram_written_bytes=numbers.get("dram__bytes_write.sum"),
        l2_hit_percent=numbers.get("lts__t_sector_hit_rate.pct"),
        compute_percent=numbers.get("sm__throughput.avg.pct_of_peak_sustained_elapsed"),
        tensor_percent=max((value for name, value in numbers.items() if _TENSOR.fullmatch(name)), default=None),
        achieved_occupancy_percent=numbers.get("sm__warps_active.avg.pct_of_peak_sustained_active"),
        theoretical_occupancy_percent=numbers.get("sm__maximum_warps_per_active_cycle_pct"),
        occupancy_limits=_limits(numbers),
        registers_per_thread=_whole(numbers, ["launch__registers_per_thread"]),
        shared_bytes_per_block=_whole(numbers, ["launch__shared_mem_per_block"]),
        local_requests=_whole(
            numbers,
            ["l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"],
        ),
        bank_conflicts=_whole(numbers, ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"]),
        shared_passes=_whole(numbers, ["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]),
        stalls=_stalls(numbers),
    )


def _limits(numbers: Mapping[str, float]) -> tuple[str, ...]:
    """The resources that allow the fewest blocks; none where more blocks could be told of."""
    blocks = {match["resource"]: value for name, value in numbers.items() if (match := _LIMIT.fullmatch(name))}
    fewest = min(blocks.values(), default=None)
    return tuple(word for resource, word in _RESOURCES.items() if fewest is not None and blocks.get(resource) == fewest)


def _stalls(numbers: Mapping[str, float]) -> tuple[Stall, ...]:
    """Shares of all the cycles between two instructions of a warp, of which one is the issuing itself."""
    cycles = {match["reason"]: value for name, value in numbers.items() if (match := _STALL.fullmatch(name))}
    total = sum(cycles.values())
    shares = [Stall(reason.replace("_", " "), value / total) for reason, value in cycles.items() if total and value]
    return tuple(sorted((stall for stall in shares if stall.reason != _ISSUING), key=lambda stall: -stall.share))


def _whole(numbers: Mapping[str, float], names: Iterable[str]) -> int | None:
    """The sum of those that are there; None where none is."""
    values = [numbers[name] for name in names if name in numbers]
    return int(sum(values)) if values else None


def _number(text: str | None) -> float | None:
    """'1,189,477.96' is 1189477.96; 'no data', words and tuples are none."""
    try:
        return float(text.replace(",", "")) if text else None
    except ValueError:
        return None


def _three(text: str) -> tuple[int, int, int]:
    """'(32, 8, 1)'"""
    numbers: Sequence[int] = [int(number) for number in re.findall(r"\d+", text)]
    return numbers[0], numbers[1], numbers[2]
