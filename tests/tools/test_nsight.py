"""Calling Nsight Compute, and reading counters of an H100 as version 2025.3 printed them, with fewer columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.instruments import KernelCounters, Stall
from harness.tools.nsight import CounterRequest, counting_command, read_counters

DATA = Path(__file__).parent / "data"
SHARED_TILE = (DATA / "shared_tile.csv").read_text()


def test_the_counters_of_a_kernel() -> None:
    (kernel,) = read_counters(SHARED_TILE)
    assert kernel == KernelCounters(
        kernel="_Z17max_pool2d_kernelPKfPf7Pooling",
        grid=(262144, 1, 1),
        block=(32, 8, 1),
        duration_ns=3_589_856.0,
        dram_bytes_per_s=1_190_207_856_805.40,
        dram_percent=35.50,
        dram_read_bytes=2_147_627_264.0,
        dram_written_bytes=2_125_047_552.0,
        l2_hit_percent=60.71,
        compute_percent=87.70,
        tensor_percent=0.0,
        achieved_occupancy_percent=98.67,
        theoretical_occupancy_percent=100.0,
        occupancy_limits=("warps per SM", "registers", "shared memory"),
        registers_per_thread=32,
        shared_bytes_per_block=19_364,
        local_requests=0,
        bank_conflicts=5_121_268,
        shared_passes=209_510_526,
        stalls=kernel.stalls,
    )


def test_stalls_are_shares_of_the_cycles_between_two_instructions() -> None:
    """The cycles sum up to 17.95, of which 1.00 is the issuing itself, which is no stall."""
    (kernel,) = read_counters(SHARED_TILE)
    assert kernel.stalls[0] == Stall("long scoreboard", pytest.approx(5.17 / 17.95, abs=1e-3))
    assert [stall.reason for stall in kernel.stalls[:4]] == ["long scoreboard", "not selected", "wait", "barrier"]
    assert sum(stall.share for stall in kernel.stalls) == pytest.approx(1 - 1.00 / 17.95, abs=1e-3)
    assert "selected" not in {stall.reason for stall in kernel.stalls}


def test_what_limits_the_occupancy_is_the_resource_with_the_fewest_blocks() -> None:
    (kernel,) = read_counters((DATA / "cudnn.csv").read_text())
    assert (kernel.theoretical_occupancy_percent, kernel.occupancy_limits) == (31.25, ("registers",))


def test_a_counter_that_the_report_lacks_is_none() -> None:
    text = SHARED_TILE.replace("dram__bytes_read.sum", "other").replace("98.67", "no data")
    (kernel,) = read_counters(text)
    assert (kernel.dram_read_bytes, kernel.achieved_occupancy_percent) == (None, None)


def test_of_the_tensor_pipes_the_busiest_counts() -> None:
    header, units, row = SHARED_TILE.splitlines()
    columns = ["sm__pipe_tensor_op_hmma_cycles_active", "sm__inst_executed_pipe_tensor_op_gmma"]
    names = ",".join(f'"{column}.avg.pct_of_peak_sustained_active"' for column in columns)
    text = "\n".join([f"{header},{names}", f'{units},"%","%"', f'{row},"12.5","63.0"'])
    assert read_counters(text)[0].tensor_percent == 63.0


def test_what_the_tool_says_before_its_table_is_skipped() -> None:
    assert len(read_counters(f"==WARNING== something\n\n{SHARED_TILE}")) == 1


@pytest.mark.parametrize("text", ["", "==WARNING== No kernels were profiled.\n"])
def test_no_table_is_no_kernel(text: str) -> None:
    assert read_counters(text) == ()


def test_clocks_are_left_alone_and_counting_begins_at_the_mark() -> None:
    command = counting_command(
        Path("/x/ncu"), CounterRequest("full", "pool.*", 7), Path("/o/p.ncu-rep"), Path("/o/log"), Path("/o/sources")
    )
    words = " ".join(command)
    assert command[0] == "/x/ncu"
    assert "--clock-control none" in words
    assert "--profile-from-start off" in words
    assert "--set full --section SpeedOfLight" in words
    assert "--launch-count 7" in words
    assert "--kernel-name-base demangled --kernel-name regex:pool.*" in words
    assert "--export /o/p.ncu-rep --log-file /o/log" in words


def test_without_a_pattern_every_kernel_is_counted() -> None:
    command = counting_command(Path("ncu"), CounterRequest("basic", None, 1), Path("p"), Path("l"), Path("s"))
    assert "--kernel-name" not in command
