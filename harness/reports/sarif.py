"""SARIF 2.1.0: findings with file and line, as code scanning shows them.

Source: OASIS, Static Analysis Results Interchange Format 2.1.0; GitHub's 'SARIF support for code scanning'.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from harness import __version__
from harness.model.gate import RULES, GateFinding, GateReport, Judged, Level, Location
from harness.reports.gate import clipped, finding_words
from harness.reports.untrusted import harmless

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LONGEST = 8000
_LEVELS: dict[Level, str] = {
    "failed": "error",
    "broken": "error",
    "inconclusive": "warning",
    "tolerated": "note",
    "waived": "error",  # suppressed, with the waiver's words
}


def sarif_json(report: GateReport) -> str:
    """The whole file. Paths are relative to the root of the repository, so that nothing of the machine is in it."""
    results = [
        _result(report, judged, finding, place)
        for judged in report.judged
        for finding in judged.findings
        if finding.level in _LEVELS
        for place in finding.places
    ]
    texts = ("shortDescription", "fullDescription", "help")  # GitHub asks for all of them
    rules = [{"id": rule, **{field: {"text": text} for field in texts}} for rule, (text, _) in RULES.items()]
    run = {
        "tool": {"driver": {"name": "harness", "semanticVersion": __version__, "rules": rules}},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "the root of the repository"}}},
        "invocations": [{"executionSuccessful": report.outcome != "broken"}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(report: GateReport, judged: Judged, finding: GateFinding, place: Location) -> dict[str, Any]:
    about = f"{judged.problem}/{judged.solution}"
    lines = [f"{about}: {finding.message}", *([place.text] if place.text else []), f"next: {finding.next_step}"]
    location = {
        "artifactLocation": {"uri": quote(harmless(report.folder + place.file)), "uriBaseId": _ROOT},
        "region": {"startLine": max(1, place.line)},
    }
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": list(RULES).index(finding.rule),
        "level": _LEVELS[finding.level],
        "message": {"text": clipped(harmless("\n".join(lines)), _LONGEST)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"harnessGate/v1": _fingerprint(about, finding, place)},
    }
    if finding.level == "waived":
        result["suppressions"] = [{"kind": "external", "justification": harmless(finding_words(finding)[-2])}]
    return result


def _fingerprint(about: str, finding: GateFinding, place: Location) -> str:
    """Equal while the same solution breaks the same rule in the same words; lines may move."""
    words = "\0".join((about, finding.rule, place.file, place.text))
    return hashlib.sha256(words.encode(errors="replace")).hexdigest()[:32]
