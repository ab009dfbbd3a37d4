"""The real tools on planted faults and on an honest kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import MachineError
from harness.model.config import LimitsConfig
from harness.model.instruments import SanitizerTool, Sanitizing
from harness.tools.nsight import CounterRequest
from harness.tools.profiling import run_profile
from harness.tools.sanitizing import run_sanitizer
from harness.tools.target import Inspection, find_tool, require_gpu
from tests.tools import fakes

pytestmark = pytest.mark.gpu


def tool(name: str) -> Path:
    try:
        return find_tool(name)
    except MachineError as error:
        pytest.skip(str(error))


def sanitize(solution: str, tools: tuple[SanitizerTool, ...], folder: Path) -> Sanitizing:
    program = tool("compute-sanitizer")
    of = fakes.target(solution)
    asked = Inspection(of, program, require_gpu(), folder, folder, LimitsConfig(), 300)
    return run_sanitizer(asked, tools, lambda what: None)


@pytest.mark.parametrize(
    ("solution", "which", "kind", "line"),
    [
        ("overrun", "memcheck", "Invalid __global__ write", "if (i <= count) y[i] = "),
        ("race", "racecheck", "Race between a write and a read", "tile[threadIdx.x] = "),
        ("uninitialized", "initcheck", "Uninitialized __global__ memory read", "if (i < count) y[i] = scratch[i] "),
        ("barrier", "synccheck", "Barrier error detected. Divergent thread(s) in warp", "__syncthreads();"),
    ],
)
def test_each_tool_finds_its_planted_fault_in_the_solutions_line(
    tmp_path: Path, solution: str, which: SanitizerTool, kind: str, line: str
) -> None:
    found = sanitize(solution, (which,), tmp_path)
    (finding,) = found.own
    assert finding.kind == kind
    assert (finding.text or "").startswith(line)
    assert (finding.source or "").startswith("solution.py:")
    assert found.is_whole
    assert {"filtered system calls", "no network"} <= set(found.protections)


def test_an_honest_kernel_is_clean_under_all_four(tmp_path: Path) -> None:
    found = sanitize("clean", ("memcheck", "racecheck", "initcheck", "synccheck"), tmp_path)
    assert [(run.tool, run.errors, run.complaint) for run in found.runs] == [
        ("memcheck", 0, None),
        ("racecheck", 0, None),
        ("initcheck", 0, None),
        ("synccheck", 0, None),
    ]


def test_a_profile_counts_the_kernel_and_keeps_both_files(tmp_path: Path) -> None:
    ncu = tool("ncu")
    asked = Inspection(fakes.target("clean"), ncu, require_gpu(), tmp_path, tmp_path, LimitsConfig(), 300)
    found = run_profile(asked, CounterRequest("basic", None, 20), lambda what: None)
    (kernel,) = found.kernels
    assert kernel.kernel == "twice_kernel(float const*, float*, int)"
    assert (kernel.grid, kernel.block) == ((2, 1, 1), (256, 1, 1))
    assert (kernel.spill_store_bytes, kernel.local_requests) == (0, 0)
    assert kernel.occupancy_limits
    assert kernel.stalls
    assert [(row.name, row.launches) for row in found.timeline.rows] == [(kernel.kernel, 3)]
    assert sorted(found.files) == ["Nsight Compute", "timeline"]
    assert (tmp_path / "profile.ncu-rep").stat().st_size > 10_000
