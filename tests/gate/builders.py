"""Evaluations, snapshots and policies for tests of the gate."""

from __future__ import annotations

import datetime
from typing import Any

from harness.gate.policy import Policy
from harness.gate.ruling import Terms, judge
from harness.gate.snapshot import Snapshot, accept
from harness.model.arms import ArmName
from harness.model.evaluation import Evaluation
from harness.model.gate import Judged, Waiver
from harness.model.timing import Timing, Turn
from harness.model.verdict import Verdict
from tests.examples import environment, passed

TODAY = datetime.date(2026, 11, 21)
SUBJECT = Judged("maxpool2d", "tiled", Verdict.PASSED)


def timing(solution_ns: int, spread: float = 0.001, case: str = "full") -> Timing:
    """12 blocks: eager takes 3 ms, the solution's blocks lie evenly within ± spread around its time, in an order in
    which neighbours don't resemble one another."""
    turns = []
    for block in range(12):
        own = round(solution_ns * (1 + spread * (5 * block % 12 - 5.5) / 5.5))
        times: dict[ArmName, int] = {"eager": 3_000_000, "solution": own}
        turns += [Turn(arm, block, (times[arm],) * 2, 2 * times[arm] + 50) for arm in times]
    return Timing(case, tuple(turns))


def timed(solution_ns: int, spread: float = 0.001, **changes: Any) -> Evaluation:
    return passed("tiled", **{"timing": timing(solution_ns, spread), "environment": environment(), **changes})


def snapshot_of(*evaluations: Evaluation) -> Snapshot:
    return Snapshot("snapshot.jsonl", tuple(accept(evaluation) for evaluation in evaluations))


def terms(snapshot: Snapshot | None = None, not_judged: str | None = None, **policy: Any) -> Terms:
    return Terms(Policy(**policy), snapshot, TODAY, not_judged)


def judged(*evaluations: Evaluation, subject: Judged = SUBJECT, **about: Any) -> Judged:
    return judge(subject, evaluations, terms(**about))


def waiver(**changes: Any) -> Waiver:
    facts = {
        "problem": "maxpool2d",
        "solution": "*",
        "what": "performance",
        "reason": "driver update under way",
        "owner": "ann",
        "expires": "2026-12-31",
    }
    return Waiver(**{**facts, **changes})


def levels(one: Judged) -> list[tuple[str, str]]:
    return [(finding.rule, finding.level) for finding in one.findings]
