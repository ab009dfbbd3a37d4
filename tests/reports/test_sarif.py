"""SARIF 2.1.0, as code scanning takes it."""

from __future__ import annotations

import json
from typing import Any

from harness.model.gate import RULES, GateReport, Location
from harness.reports.sarif import sarif_json
from tests.reports.gates import ALLOWED, BROKEN, FINE, NEW, UNDECIDED, WAIVED, finding, hostile, judged, report
from tests.wording import tells


def run_of(gate: GateReport) -> dict[str, Any]:
    log = json.loads(sarif_json(gate))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return run  # type: ignore[no-any-return]


def test_a_finding_has_rule_level_file_and_line() -> None:
    (result,) = run_of(report(judged("fast", finding())))["results"]
    assert result["ruleId"] == "unexpected_verdict"
    assert result["level"] == "error"
    assert result["message"]["text"] == (
        "relu/fast: compile_error: its code doesn't compile\ncuda.cu: 'x' is undefined\nnext: mend it"
    )
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "solutions/relu/fast/solution.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 7},
            }
        }
    ]


def test_paths_are_relative_to_the_repository() -> None:
    run = run_of(report(judged("fast", finding()), folder="kernels/"))
    location = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == "kernels/solutions/relu/fast/solution.py"
    assert list(run["originalUriBaseIds"]) == ["%SRCROOT%"]
    assert "uri" not in run["originalUriBaseIds"]["%SRCROOT%"]


def test_rules_are_listed_and_referred_to() -> None:
    run = run_of(report(judged("fast", finding(rule="regressed"))))
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    assert rules[run["results"][0]["ruleIndex"]]["id"] == "regressed"
    assert all(rule["help"]["text"] for rule in rules)


def test_levels_follow_the_gates() -> None:
    run = run_of(report(BROKEN, UNDECIDED, ALLOWED, NEW, FINE))
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]


def test_only_a_gate_that_could_judge_was_successful() -> None:
    assert run_of(report(FINE))["invocations"] == [{"executionSuccessful": True}]
    assert run_of(report(BROKEN))["invocations"] == [{"executionSuccessful": False}]


def test_what_is_waived_is_suppressed_with_its_reason() -> None:
    (result,) = run_of(report(WAIVED))["results"]
    (suppression,) = result["suppressions"]
    assert suppression["kind"] == "external"
    assert tells(suppression["justification"], "waived", "2026-12-31", "ann", "compiler bug 12")


def test_each_place_is_a_result() -> None:
    places = (Location("a.py", 1, "first"), Location("a.py", 2, "second"))
    results = run_of(report(judged("fast", finding(places=places))))["results"]
    assert [r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in results] == [1, 2]
    assert len({r["partialFingerprints"]["harnessGate/v1"] for r in results}) == 2


def test_a_finding_that_moves_by_some_lines_keeps_its_fingerprint() -> None:
    there, here = (
        run_of(report(judged("fast", finding(places=(Location("a.py", line, "x"),)))))["results"][0] for line in (3, 30)
    )
    assert there["partialFingerprints"] == here["partialFingerprints"]


def test_a_solutions_words_stay_text() -> None:
    (result,) = run_of(hostile())["results"]
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert location == "solutions/relu/a%20b%25%2C%3A%C3%A9.py"
    assert not {"\x1b", "\x00", "\u202e"} & set(result["message"]["text"])
