"""Counting with Nsight Compute: what becomes of its report, and of its refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import MachineError
from harness.model.instruments import DeviceTimeline, KernelCounters, TimelineRow
from harness.tools.arm_task import Reached
from harness.tools.bench import ArmFailed
from harness.tools.nsight import CounterRequest
from harness.tools.profiling import count_kernels, named, remarks
from tests.tools import fakes


def count(folder: Path, ncu: Path, kernel: str | None = None, timeout_s: float = 60) -> tuple[KernelCounters, ...]:
    asked = fakes.inspection(fakes.target(), ncu, folder, timeout_s)
    with fakes.bench(asked.target) as bench:
        return count_kernels(bench, asked, CounterRequest("basic", kernel, 20), ())


def test_the_report_is_kept_and_read(tmp_path: Path) -> None:
    ncu = fakes.tool(tmp_path / "ncu", {"--export": fakes.DATA / "shared_tile.csv"}, fakes.report("end"))
    assert [kernel.registers_per_thread for kernel in count(tmp_path, ncu)] == [32]
    assert (tmp_path / "profile.ncu-rep").exists()


def test_no_kernel_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "said").write_text("==WARNING== No kernels were profiled.\nAvailable Kernels:\n1. k\n")
    ncu = fakes.tool(tmp_path / "ncu", {"--log-file": tmp_path / "said"}, fakes.report("end"))
    assert count(tmp_path, ncu, "nomatch") == ()


@pytest.mark.parametrize(("after", "code"), [("", 1), ("==WARNING== No kernels were profiled.\n", 0)])
def test_a_missing_permission_is_told_with_its_remedies(tmp_path: Path, after: str, code: int) -> None:
    said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access …\n"
    (tmp_path / "said").write_text(said + after)
    ncu = fakes.tool(tmp_path / "ncu", {"--log-file": tmp_path / "said"}, fakes.report("end"), code=code)
    with pytest.raises(MachineError, match=r"root.*SYS_ADMIN.*NVreg_RestrictProfilingToAdminUsers=0"):
        count(tmp_path, ncu)


def test_an_unknown_refusal_is_told_in_the_tools_words(tmp_path: Path) -> None:
    ncu = fakes.tool(tmp_path / "ncu", {}, None, prints="==ERROR== out of luck", code=9)
    with pytest.raises(MachineError, match=r"exit code 9\b[^\n]*\n==ERROR== out of luck"):
        count(tmp_path, ncu)


def test_counting_that_takes_too_long_says_what_takes_less(tmp_path: Path) -> None:
    ncu = fakes.tool(tmp_path / "ncu", {}, None)
    with pytest.raises(MachineError, match=r"0 s\).*--timeout.*--launches 1.*--kernel"):
        count(tmp_path, ncu, timeout_s=0)


def test_a_report_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd").write_text('"ID","Kernel Name"\n"",""\n"0","k"\n')
    ncu = fakes.tool(tmp_path / "ncu", {"--export": tmp_path / "odd"}, fakes.report("end"))
    with pytest.raises(MachineError, match=r"profile\.ncu-rep .*\(KeyError"):
        count(tmp_path, ncu)


def test_kernels_get_readable_names_and_the_compilers_count_of_spills(tmp_path: Path) -> None:
    ncu = fakes.tool(tmp_path / "ncu", {"--export": fakes.DATA / "shared_tile.csv"}, fakes.report("end"))
    name = "max_pool2d_kernel(float const*, float*, Pooling)"
    (kernel,) = named(count(tmp_path, ncu), fakes.built(name, spilled=24))
    assert (kernel.kernel, kernel.spill_store_bytes, kernel.spill_load_bytes) == (name, 24, 24)
    (foreign,) = named(count(tmp_path, ncu), fakes.built("another()", spilled=24))
    assert foreign.spill_store_bytes is None


@pytest.mark.parametrize(
    ("launches", "pattern", "remark"),
    [
        (0, None, ["a call launches no kernel"]),
        (0, "x", ["a call launches no kernel that the timeline saw"]),
        (2, None, ["a call launches 1 kernel, of which 0 were counted; --launches counts more"]),
        (6, "x", ["no kernel's name matches 'x'; the timeline lists them"]),
        (6, None, ["a call launches 2 kernels, of which 0 were counted; --launches counts more"]),
    ],
)
def test_what_was_not_counted_is_said(launches: int, pattern: str | None, remark: list[str]) -> None:
    rows = (TimelineRow("k", "kernel", launches, 1.0, 1.0, 1.0),) if launches else ()
    assert list(remarks((), DeviceTimeline(3, rows, 1.0, 1.0, 0, 0.0), CounterRequest("basic", pattern, 20))) == remark


def test_kernels_that_the_timeline_missed_are_no_call_without_kernels(tmp_path: Path) -> None:
    counted = count(tmp_path, fakes.tool(tmp_path / "ncu", {"--export": fakes.DATA / "shared_tile.csv"}, None))
    (remark,) = remarks(counted, DeviceTimeline(3, (), 0.0, 0.0, 0, 0.0), CounterRequest("basic", None, 20))
    assert "timeline" in remark
    assert "Nsight Compute" in remark


@pytest.mark.parametrize(
    ("stage", "prints", "code", "is_late", "error", "words"),
    [
        ("call", "", 0, True, ArmFailed, r"smaller case.*--timeout"),
        ("call", "working …", 0, False, ArmFailed, "called: exit code 0"),
        (None, "ImportError: no torch", 1, False, MachineError, "ImportError: no torch"),  # our trouble, not the arm's
    ],
)
def test_an_arm_that_did_not_get_through_its_calls_has_failed_itself(
    tmp_path: Path, stage: Reached | None, prints: str, code: int, is_late: bool, error: type[Exception], words: str
) -> None:
    with fakes.bench(fakes.target()) as bench:
        program = fakes.tool(tmp_path / "arm", {}, stage and fakes.report(stage), prints=prints, code=code)
        ended = bench.run([str(program)], fakes.CALLS, tmp_path / "log", 60)
        with pytest.raises(error, match=words):
            bench.require_done(replace(ended, code=None) if is_late else ended, tmp_path / "log")


def test_a_link_that_the_arm_leaves_in_place_of_its_report_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"stage": "end"}')
    with fakes.bench(fakes.target()) as bench:
        (bench.folder / "scratch" / "report.json").symlink_to(tmp_path / "secret")
        assert bench.report().stage == "start"
