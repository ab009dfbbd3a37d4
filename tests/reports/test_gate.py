"""The gate's answer on a terminal of 80 columns."""

from __future__ import annotations

import json

from harness.model.gate import GateReport
from harness.reports.gate import gate_json, gate_report
from tests.reports.gates import (
    ALLOWED,
    BROKEN,
    FINE,
    NEW,
    REGRESSED,
    UNDECIDED,
    WAIVED,
    finding,
    hostile,
    judged,
    report,
)
from tests.reports.printed import printed as shown
from tests.wording import tells


def printed(gate: GateReport, verbose: bool = False) -> list[str]:
    return shown(gate_report(gate, verbose))


def test_the_answer_is_the_last_line() -> None:
    lines = printed(report(REGRESSED, BROKEN, UNDECIDED, WAIVED, ALLOWED, FINE))
    assert tells(lines[-1], "gate failed:", "6", "1 failed", "1 broken", "1 inconclusive", "3 passed")
    assert lines[-2] == "speed against snapshot.jsonl"


def test_a_row_tells_speed_and_outcome() -> None:
    lines = printed(report(REGRESSED, ALLOWED))
    assert lines[:4] == [
        "relu",
        "  solution  verdict  of the accepted speed  gate",
        "  slow      passed   0.900× [0.890, 0.910]  failed",
        "  allowed   passed   —                      undecided, allowed",
    ]


def test_a_regression_is_told_with_every_measurement() -> None:
    lines = printed(report(REGRESSED))
    start = lines.index("relu/slow: failed (regressed)")
    text = " ".join(lines[start + 1 :])
    assert tells(text, "slower", "accepted", "3.00× [2.90, 3.10]")
    for number in ("1", "2"):
        assert tells(text, f"measurement {number}:", "2.70× [2.50, 2.90]", "0.900× [0.890, 0.910]", "regressed")


def test_without_a_gpu_no_speed_is_shown_and_the_reason_is() -> None:
    lines = printed(report(FINE, not_judged="no GPU"))
    assert lines[1:3] == ["  solution  verdict  gate", "  fine      passed   passed"]
    assert any(tells(line, "not judged: no GPU") for line in lines)


def test_details_are_shown_and_longer_for_the_verbose() -> None:
    gate = report(judged("bad", finding(details="cuda.cu(9): error\n" * 100)))
    assert printed(gate).count("  cuda.cu(9): error") == 66
    assert any(tells(line, "600 characters") for line in printed(gate))
    assert printed(gate, verbose=True).count("  cuda.cu(9): error") == 100


def test_remarks_on_solutions_are_for_the_verbose() -> None:
    assert not any("relu/new:" in line for line in printed(report(NEW)))
    assert "relu/new: remark (no_comparison)" in printed(report(NEW), verbose=True)


def test_no_line_is_longer_than_80_columns() -> None:
    long = judged("a_solution_with_quite_a_long_name_indeed", finding(message="word " * 60))
    assert max(len(line) for line in printed(report(long, REGRESSED), verbose=True)) <= 80


def test_a_solutions_words_do_not_steer_the_terminal() -> None:
    text = "\n".join(printed(hostile(), verbose=True))
    assert not {"\x1b", "\x00", "\u202e"} & set(text)
    text.encode()


def test_nothing_to_judge_is_said() -> None:
    (line,) = printed(report(environment=None, snapshot=None))
    assert tells(line, "gate passed:", "nothing")


def test_json_has_the_outcome_of_the_whole_and_of_each() -> None:
    data = json.loads(gate_json(report(REGRESSED, FINE)))
    assert (data["outcome"], [one["outcome"] for one in data["judged"]]) == ("failed", ["failed", "passed"])
    assert data["judged"][0]["attempts"][0]["against_snapshot"]["estimate"] == 0.9
    assert data["judged"][0]["findings"][0]["rule"] == "regressed"
