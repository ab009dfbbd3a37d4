"""Reading compute-sanitizer 2025.3's logs of an H100, recorded with --demangle no; most host frames are left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.instruments import SanitizerFinding
from harness.tools.sanitizer_log import SanitizerLog, read_log

DATA = Path(__file__).parent / "data"


def read(name: str) -> SanitizerLog:
    return read_log((DATA / f"{name}.log").read_text(), "memcheck")


def findings(log: SanitizerLog) -> list[SanitizerFinding]:
    return [report.finding for report in log.reported]


def test_an_access_out_of_bounds_is_told_with_all_that_the_tool_says() -> None:
    log = read("memcheck_overrun")
    assert findings(log) == [
        SanitizerFinding(
            tool="memcheck",
            kind="Invalid __global__ write",
            kernel="_Z12twice_kernelPKfPfi",
            is_own=False,
            source="cuda.cu:10",
            count=1,
            block=(1, 0, 0),
            thread=(44, 0, 0),
            address=0x7F5642801AB0,
            nbytes=4,
            details=(
                "Access to 0x7f5642801ab0 is out of bounds",
                "and is 1 bytes after the nearest allocation at 0x7f5642801600 of size 1,200 bytes",
            ),
        )
    ]
    assert (log.total, log.unprinted, log.complaints) == (3, 0, ())


def test_errors_that_every_call_returns_after_a_fault_are_left_out() -> None:
    text = (DATA / "memcheck_overrun.log").read_text()
    assert "cudaErrorLaunchFailure" in text
    assert [one.kernel for one in findings(read_log(text, "memcheck"))] == ["_Z12twice_kernelPKfPfi"]


def test_such_an_error_without_a_fault_is_told() -> None:
    blocks = (DATA / "memcheck_overrun.log").read_text().split("========= \n")
    (report,) = findings(read_log("========= \n".join([blocks[1], blocks[-1]]), "memcheck"))
    assert (report.kind, report.kernel) == ("cudaErrorLaunchFailure from cudaFree", None)


def test_a_race_is_told_with_both_lines() -> None:
    log = read("racecheck")
    assert findings(log) == [
        SanitizerFinding(
            tool="memcheck",
            kind="Race between a write and a read",
            kernel="_Z12twice_kernelPKfPfi",
            is_own=False,
            source="cuda.cu:11",
            count=1200,
            details=("write at cuda.cu:11", "read at cuda.cu:14"),
        )
    ]
    assert log.total == 1


def test_reports_that_are_alike_are_counted_and_the_first_thread_is_named() -> None:
    log = read("initcheck")
    assert [(r.kind, r.count, r.thread, r.nbytes) for r in findings(log)] == [
        ("Uninitialized __global__ memory read", 3, (96, 0, 0), 4)
    ]
    assert (log.total, log.unprinted) == (300, 200)


def test_a_barrier_that_some_threads_miss() -> None:
    (report,) = findings(read("synccheck"))
    assert report.kind == "Barrier error detected. Divergent thread(s) in warp"
    assert (report.source, report.count, report.block) == ("cuda.cu:11", 8, (0, 0, 0))


def test_a_launch_that_fails_is_told_with_the_line_that_called_it() -> None:
    ((report, frames),) = read("memcheck_failed_launch").reported
    assert report.kind == "cudaErrorInvalidValue from cudaLaunchKernel"
    assert (report.kernel, report.source, report.details) == (None, "solution.py:32", ('"invalid argument"',))
    assert frames[0] == "twice_kernel(float const*, float*, int) [0x8c659] in double.so"


def test_a_clean_log_reports_nothing() -> None:
    assert read("memcheck_clean") == SanitizerLog((), total=0, unprinted=0, complaints=())


def test_a_log_that_ends_early_has_no_total() -> None:
    text = (DATA / "memcheck_overrun.log").read_text().split("========= ERROR SUMMARY")[0]
    log = read_log(text, "memcheck")
    assert (log.total, len(log.reported)) == (None, 1)


def test_what_the_tool_complains_of_itself_is_no_finding() -> None:
    text = "========= COMPUTE-SANITIZER\n========= Error: Device not supported. Please refer to the documentation\n"
    log = read_log(text, "memcheck")
    assert log.reported == ()
    assert log.complaints == ("Error: Device not supported. Please refer to the documentation",)


def test_a_kernel_without_line_numbers_has_no_source() -> None:
    text = (DATA / "memcheck_overrun.log").read_text().replace(" in cuda.cu:10", "")
    (report,) = findings(read_log(text, "memcheck"))
    assert (report.kernel, report.source) == ("_Z12twice_kernelPKfPfi", None)


@pytest.mark.parametrize("text", ["", "no log at all\n", "=========", "=========     at nothing\n========= "])
def test_what_is_no_log_reports_nothing(text: str) -> None:
    assert read_log(text, "memcheck") == SanitizerLog((), total=None, unprinted=0, complaints=())
