"""Reports of a gate with plain values."""

from __future__ import annotations

import datetime
from typing import Any

from harness.model.gate import GateAttempt, GateFinding, GateReport, Judged, Location, Waiver
from harness.model.statistics import Interval
from harness.model.verdict import Verdict

PLACE = Location("solutions/relu/fast/solution.py", 7, "cuda.cu: 'x' is undefined")
WAIVER = Waiver("relu", "*", "correctness", "compiler bug 12", "ann", datetime.date(2026, 12, 31))


def finding(**changes: Any) -> GateFinding:
    facts: dict[str, Any] = {
        "rule": "unexpected_verdict",
        "level": "failed",
        "message": "compile_error: its code doesn't compile",
        "next_step": "mend it",
        "places": (PLACE,),
        "details": "cuda.cu(9): error",
    }
    return GateFinding(**{**facts, **changes})


def attempt(**changes: Any) -> GateAttempt:
    facts: dict[str, Any] = {"evaluation": "e1", "run": "r1", "verdict": Verdict.PASSED, "duration_s": 1.5}
    return GateAttempt(**{**facts, **changes})


def judged(name: str, *findings: GateFinding, **changes: Any) -> Judged:
    facts: dict[str, Any] = {"problem": "relu", "expected": Verdict.PASSED, "attempts": (attempt(),)}
    return Judged(solution=name, findings=findings, **{**facts, **changes})


SLOW = Interval(0.9, 0.89, 0.91, 0.95)
REGRESSED = judged(
    "slow",
    finding(rule="regressed", message="slower than the snapshot", details=None),
    attempts=(attempt(speedup=Interval(2.7, 2.5, 2.9, 0.95), against_snapshot=SLOW, speed="regressed"),) * 2,
    accepted=Interval(3.0, 2.9, 3.1, 0.95),
    speed="regressed",
)
BROKEN = judged("broken", finding(rule="harness_error", level="broken"))
UNDECIDED = judged("undecided", finding(rule="unsupported", level="inconclusive"))
WAIVED = judged("waived", finding(level="waived", waiver=WAIVER))
ALLOWED = judged("allowed", finding(rule="inconclusive_speed", level="tolerated"))
NEW = judged("new", finding(rule="no_comparison", level="remark"))
FINE = judged("fine")


def report(*all_judged: Judged, **changes: Any) -> GateReport:
    facts: dict[str, Any] = {
        "backend": "cuda",
        "environment": "h100-torch2.11.0-3fa9c1d2",
        "commit": "a49ed80c5a78",
        "snapshot": "snapshot.jsonl",
        "not_judged": None,
        "judged": all_judged,
    }
    return GateReport(**{**facts, **changes})


HOSTILE = (
    "\x1b[31m]]> </failure> & <script>alert(1)</script> @octocat #1 | ``` ````\n"
    "::set-env name=X::1\n::error::\u202egnissap\ud800\x00\ufffe"
)


def hostile() -> GateReport:
    """A solution's words in every place that they can come to."""
    bad = finding(message=HOSTILE, details=HOSTILE, places=(Location("solutions/relu/a b%,:é.py", 3, HOSTILE),))
    return report(judged("</x>|`@y`", bad, problem="<p>|::error::"), remarks=(HOSTILE,))
