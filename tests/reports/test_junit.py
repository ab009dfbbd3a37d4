"""JUnit's XML."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from harness.model.gate import Judged
from harness.reports.junit import junit_xml
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
from tests.wording import tells


def test_each_problem_is_a_suite_that_counts_its_cases() -> None:
    other = judged("fine", problem="softmax")
    root = ElementTree.fromstring(junit_xml(report(REGRESSED, BROKEN, UNDECIDED, WAIVED, FINE, other)))
    assert root.attrib == {"name": "harness gate", "tests": "6", "failures": "2", "errors": "1", "skipped": "1"}
    suites = [(s.get("name"), s.get("tests"), s.get("failures"), s.get("errors"), s.get("skipped")) for s in root]
    assert suites == [("relu", "5", "2", "1", "1"), ("softmax", "1", "0", "0", "0")]


@pytest.mark.parametrize(
    ("one", "tag"),
    [
        (REGRESSED, "failure"),
        (BROKEN, "error"),
        (UNDECIDED, "failure"),
        (WAIVED, "skipped"),
        (judged("u", finding(rule="unsupported", level="tolerated")), "skipped"),
        (ALLOWED, None),
        (NEW, None),
        (FINE, None),
    ],
)
def test_a_case_says_how_it_ended(one: Judged, tag: str | None) -> None:
    (case,) = ElementTree.fromstring(junit_xml(report(one))).iter("testcase")
    assert (case.get("classname"), case.get("name")) == ("relu", one.solution)
    assert [child.tag for child in case if child.tag in ("failure", "error", "skipped")] == ([tag] if tag else [])


def test_a_failure_holds_message_type_place_and_next_step() -> None:
    (case,) = ElementTree.fromstring(junit_xml(report(judged("bad", finding())))).iter("testcase")
    failure = case.find("failure")
    assert failure is not None
    assert case.get("time") == "1.500"
    assert failure.attrib["type"] == "unexpected_verdict"
    assert failure.attrib["message"].startswith("compile_error: ")
    assert failure.text == (
        "compile_error: its code doesn't compile\nat solutions/relu/fast/solution.py:7\nnext: mend it\n"
        "cuda.cu(9): error"
    )


def test_every_measurement_is_told() -> None:
    (case,) = ElementTree.fromstring(junit_xml(report(REGRESSED))).iter("testcase")
    accepted, *measurements = case.findtext("system-out", "").splitlines()
    assert tells(accepted, "accepted", "3.00× [2.90, 3.10]")
    for number, line in zip(("1", "2"), measurements, strict=True):
        assert tells(line, f"measurement {number}:", "2.70× [2.50, 2.90]", "0.900× [0.890, 0.910]", "regressed")


def test_that_performance_was_not_judged_is_told() -> None:
    root = ElementTree.fromstring(junit_xml(report(FINE, not_judged="no GPU", remarks=("look",))))
    values = [element.get("value") for element in root.iter("property")]
    where, not_judged, hint = values
    assert tells(where, "h100-torch2.11.0-3fa9c1d2")
    assert tells(not_judged, "not judged: no GPU")
    assert hint == "look"


def test_no_words_of_a_solution_break_the_xml() -> None:
    text = junit_xml(hostile())
    root = ElementTree.fromstring(text)
    assert len(list(root.iter("failure"))) == 1
    assert not {"\x1b", "\x00", "\ufffe", "\u202e"} & set(text)
    text.encode()


def test_nothing_to_judge_is_an_empty_file_that_parses() -> None:
    assert ElementTree.fromstring(junit_xml(report())).get("tests") == "0"


def test_a_long_log_is_cut_with_a_statement() -> None:
    (case,) = ElementTree.fromstring(junit_xml(report(judged("bad", finding(details="x" * 99_000))))).iter("testcase")
    text = case.findtext("failure", "")
    assert len(text) < 33_000
    assert text.endswith("characters left out")
