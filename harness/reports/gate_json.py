"""The gate's answer for programs."""

from __future__ import annotations

import json

from harness.records.gate import GateReport
from harness.records.record import as_json


def gate_json(report: GateReport) -> str:
    """One object: the report's fields, with 'outcome' for the whole and for each solution."""
    judged = [{"outcome": one.outcome, **as_json(one)} for one in report.judged]
    return json.dumps({"outcome": report.outcome, **as_json(report), "judged": judged}, indent=2, allow_nan=False)
