"""What compute-sanitizer found, printed and as JSON."""

from __future__ import annotations

from dataclasses import replace

from harness.cli import exit_codes
from harness.model.instruments import SanitizerFinding, Sanitizing, ToolRun
from harness.reports.tools import sanitizing_json, sanitizing_report
from tests.reports.printed import printed as shown
from tests.wording import tells

OWN = SanitizerFinding(
    tool="memcheck",
    kind="Invalid __global__ write",
    kernel="twice(float*)",
    is_own=True,
    count=100,
    source="solution.py:13",
    text="y[i] = x[i];",
    block=(1, 0, 0),
    thread=(44, 0, 0),
    address=0x7F5642801AB0,
    nbytes=4,
    details=("Access to 0x7f5642801ab0 is out of bounds",),
)
FOREIGN = SanitizerFinding("initcheck", "Uninitialized __global__ memory read", "void at::native::k()", is_own=False)
CLEAN = ToolRun("synccheck", 5.2, (), 0, 0, "/r/synccheck.log")
FAULTY = ToolRun("memcheck", 6.0, (OWN,), 300, 200, "/r/memcheck.log")
OTHERS = ToolRun("initcheck", 6.0, (FOREIGN,), 1, 0, "/r/initcheck.log")
BLIND = ToolRun("racecheck", 600.0, (), None, 0, "/r/racecheck.log", "not done after 600 s")
WHOLE = Sanitizing("double", "small", "overrun", "NVIDIA H100", (FAULTY, OTHERS, CLEAN))


def printed(sanitizing: Sanitizing) -> str:
    return "\n".join(shown(sanitizing_report(sanitizing), 100)) + "\n"


def test_a_finding_says_what_where_and_by_whom() -> None:
    assert (
        "memcheck: Invalid __global__ write of 4 bytes ×100\n"
        "  in twice(float*) at solution.py:13\n"
        "      y[i] = x[i];\n"
        "  first by thread (44, 0, 0) of block (1, 0, 0)\n"
        "  Access to 0x7f5642801ab0 is out of bounds\n"
    ) in printed(WHOLE)


def test_each_tool_has_its_line() -> None:
    lines = [" ".join(line.split()) for line in printed(replace(WHOLE, runs=(*WHOLE.runs, BLIND))).splitlines()]
    assert tells(" ".join(lines), "memcheck 300 6", "out of bounds", "200 more")
    assert any(tells(line, "synccheck 0 5", "barriers") for line in lines)
    assert any(tells(line, "racecheck ? 600", "600 s") for line in lines)


def test_findings_of_others_are_set_apart() -> None:
    text = printed(WHOLE)
    apart = text.index("not in the solution's own kernels, and not held against it:")
    assert apart < text.index("void at::native::k()")
    assert apart > text.index("twice(float*)")


def test_the_heading_is_the_answer() -> None:
    assert printed(WHOLE).startswith("double/overrun has faults, case small, on NVIDIA H100\n")
    assert printed(replace(WHOLE, runs=(OTHERS, CLEAN))).startswith("double/overrun clean, ")
    assert tells(printed(replace(WHOLE, runs=(CLEAN, BLIND))), "double/overrun", "not looked through")


def test_exit_codes() -> None:
    assert exit_codes.of_sanitizing(WHOLE) == 1
    assert exit_codes.of_sanitizing(replace(WHOLE, runs=(FAULTY, BLIND))) == 1
    assert exit_codes.of_sanitizing(replace(WHOLE, runs=(CLEAN, BLIND))) == 3
    assert exit_codes.of_sanitizing(replace(WHOLE, runs=(OTHERS, CLEAN))) == 0


def test_programs_get_the_record_and_its_conclusion() -> None:
    found = sanitizing_json(WHOLE)
    assert found["is_clean"] is False
    assert found["runs"][0]["findings"][0]["thread"] == [44, 0, 0]
    assert sanitizing_json(replace(WHOLE, runs=(OTHERS, CLEAN)))["is_clean"] is True
    assert sanitizing_json(replace(WHOLE, runs=(CLEAN, BLIND)))["is_clean"] is False


def test_a_source_line_of_a_stranger_steers_no_terminal() -> None:
    sneaky = replace(OWN, text="x\x1b[2J", kernel="k\n::error::", kind="\x07bell")
    text = printed(replace(WHOLE, runs=(replace(FAULTY, findings=(sneaky,)),)))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\n::error" not in text
