"""A profile, printed and as JSON."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.instruments import DeviceTimeline, KernelCounters, Profile, Stall, TimelineRow
from harness.reports.tools import profile_json, profile_report
from tests.reports.printed import printed as shown
from tests.wording import tells

KERNEL = KernelCounters(
    kernel="pool(float const*, float*)",
    grid=(262144, 1, 1),
    block=(32, 8, 1),
    duration_ns=3_589_856.0,
    dram_bytes_per_s=1.19020786e12,
    dram_percent=35.5,
    dram_read_bytes=2_147_627_264.0,
    dram_written_bytes=2_125_047_552.0,
    l2_hit_percent=60.71,
    compute_percent=87.7,
    tensor_percent=12.34,
    achieved_occupancy_percent=41.2,
    theoretical_occupancy_percent=50.0,
    occupancy_limits=("registers", "shared memory"),
    registers_per_thread=64,
    shared_bytes_per_block=19_364,
    local_requests=3_117,
    bank_conflicts=5_121_268,
    shared_passes=209_510_526,
    stalls=(Stall("long scoreboard", 0.288), Stall("wait", 0.149), Stall("barrier", 0.01)),
    spill_store_bytes=24,
    spill_load_bytes=40,
)
TIMELINE = DeviceTimeline(
    calls=3,
    rows=(
        TimelineRow("pool(float const*, float*)", "kernel", 3, 9_000_000, 2_900_000, 3_100_000),
        TimelineRow("Memset (Device)", "fill", 3, 1_000_000, 300_000, 400_000),
    ),
    span_ns=12_500_000,
    busy_ns=10_000_000,
    gaps=5,
    longest_gap_ns=2_000_000,
)
PROFILE = Profile(
    "maxpool2d", "full", "plain", "NVIDIA H100", (KERNEL,), TIMELINE, {"Nsight Compute": "/r/profile.ncu-rep"}
)


def printed(profile: Profile, width: int = 100) -> str:
    return "\n".join(shown(profile_report(profile), width)) + "\n"


@pytest.mark.parametrize(
    "line",
    [
        "maxpool2d/plain, case full, on NVIDIA H100",
        "duration        3.590 ms",
        "DRAM            1.190 TB/s, 35.5 % of peak, 2.15 GB read, 2.13 GB written",
        "L2 hits         60.7 %",
        "compute         87.7 % of peak, tensor pipes 12.3 %",
        "occupancy       41.2 % of the warps an SM holds; limited to 50.0 %, by registers and shared memory",
        "registers       64 a thread, spilled: 24 bytes stored, 40 loaded",
        "local memory    3,117 accesses of warps",
        "shared memory   18.9 KiB a block; bank conflicts: 2.4 % of 210 million passes",
        "timeline of 3 calls: 12.50 ms, 20.0 % of it idle, in 5 gaps, the longest 2000.0 µs",
        "Nsight Compute  /r/profile.ncu-rep",
    ],
)
def test_each_number_has_its_line(line: str) -> None:
    assert line in printed(PROFILE)


def test_small_stalls_are_left_out() -> None:
    assert "warps wait for  long scoreboard 29 %, wait 15 %" in printed(PROFILE)


def test_shares_of_the_timeline_are_of_the_busy_time() -> None:
    rows = [line.split() for line in printed(PROFILE).splitlines() if line.endswith((" 3100.0", " 400.0"))]
    assert [row[-6:] for row in rows] == [
        ["3", "9.000", "90.0", "%", "2900.0", "3100.0"],
        ["3", "1.000", "10.0", "%", "300.0", "400.0"],
    ]


def test_what_was_not_counted_is_left_out() -> None:
    bare = KernelCounters(
        "k", (1, 1, 1), (32, 1, 1), 5_632.0, *[None] * 9, occupancy_limits=(), registers_per_thread=None,
        shared_bytes_per_block=None, local_requests=None, bank_conflicts=None, shared_passes=None, stalls=(),
    )  # fmt: skip
    text = printed(replace(PROFILE, kernels=(bare,)))
    assert "duration  0.005632 ms" in text
    for label in ("DRAM", "occupancy", "registers", "shared memory", "warps wait for", "None"):
        assert label not in text


def test_a_kernel_that_no_resource_limits_and_that_spills_nothing() -> None:
    easy = replace(
        KERNEL, theoretical_occupancy_percent=100.0, spill_store_bytes=0, spill_load_bytes=0, local_requests=0
    )
    text = printed(replace(PROFILE, kernels=(easy,)))
    assert tells(text, "41.2 %", "nothing limits")
    assert tells(text, "64", "none spilled")
    assert "local memory" not in text


def test_launches_in_a_row_that_are_alike_are_shown_once_by_the_middle_one() -> None:
    slow, fast = replace(KERNEL, duration_ns=9e6), replace(KERNEL, duration_ns=1e6)
    text = printed(replace(PROFILE, kernels=(slow, KERNEL, fast)))
    assert tells(text, "3 launches")
    assert text.count("3.590 ms") == 1
    assert "9.000 ms" not in text.split("timeline")[0]


def test_a_very_long_name_is_cut() -> None:
    text = printed(replace(PROFILE, kernels=(replace(KERNEL, kernel="k" * 500),)), width=200)
    assert f"{'k' * 120}…\n" in "\n".join(line.rstrip() for line in text.splitlines())
    assert "k" * 121 not in text


def test_a_name_of_a_stranger_steers_no_terminal() -> None:
    text = printed(replace(PROFILE, kernels=(replace(KERNEL, kernel="k\x1b[2J\n::error::x"),)))
    assert "\x1b" not in text
    assert "\n::error" not in text


def test_it_fits_eighty_columns() -> None:
    assert [line for line in printed(PROFILE, width=80).splitlines() if len(line.rstrip()) > 80] == []


def test_programs_get_the_record_and_the_idle_time() -> None:
    found = profile_json(PROFILE)
    assert found["timeline"]["idle_ns"] == 2_500_000
    assert found["kernels"][0]["stalls"][0] == {"reason": "long scoreboard", "share": 0.288}
    assert found["solution"] == "plain"
