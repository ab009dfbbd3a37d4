"""The gate's answer for programs."""

from __future__ import annotations

import json

from harness.codec import encode
from harness.records.gate import GateReport


def gate_json(report: GateReport) -> str:
    """One object: the report's fields, with 'outcome' for the whole and for each solution."""
    judged = [{"outcome": one.outcome, **encode(one)} for one in report.judged]
    return json.dumps({"outcome": report.outcome, **encode(report), "judged": judged}, indent=2, allow_nan=False)
