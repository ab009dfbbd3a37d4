"""Every check that can end in `cheating` has its numbers in the evidence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.check import CHECK_NAMES, CheckName
from harness.model.evaluation import Work
from harness.referee import unchanged
from harness.referee.audit.claims import require_originals, require_plausible
from harness.referee.audit.idle_gpu import require_idle
from harness.referee.audit.impossible_speed import require_possible
from harness.referee.audit.observed import ArmTurns, Facts, WallTurn
from harness.referee.audit.phases import require_even_work, require_same_work
from harness.referee.audit.tail import require_quiet_end, require_tails
from harness.referee.audit.traced_turn import OutputSize, read_traced_turn
from harness.referee.audit.wall_clock import require_explained
from harness.referee.buffers.turns import Taken
from harness.referee.timing.arms import recorded_turn
from harness.referee.unchanged import change_meanwhile
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.messages import CallTaken, TakeTurn, TurnTaken
from harness.sandbox.wire.sandbox import FIRST_USER
from tests.examples import ceilings
from tests.referee.audit.observed import busy, observed
from tests.referee.audit.traces import around

MS = 1_000_000
SLOW = [WallTurn(calls, calls * MS, calls * 9 * MS) for calls in (1, 3, 5) * 3]
USUAL = [WallTurn(calls, calls * MS, calls * 2 * MS) for calls in (1, 3, 5) * 3]


def spoke_unasked() -> None:
    worker: Any = SimpleNamespace(output="", _answers=3)
    raise WorkerProcess.misbehaved(worker, "spoke before it was asked", unasked_bytes=7)


def long_tail() -> None:
    calls = (CallTaken("tensor", (), 10, 12), CallTaken("tensor", (), 10, 99))
    recorded_turn("solution", Taken(TakeTurn(()), TurnTaken(calls, (), 0), 50))


def too_fast() -> None:
    facts = Facts(
        outputs=(OutputSize(10**9, 1),),
        work=Work(3_000_000_000, None),
        ceilings=ceilings(cache_bytes=50_000_000),
        inputs_that_matter=lambda: 2e9,
    )
    require_possible(observed(ArmTurns(claimed_ns=[(MS,)]), facts, 100_000, claimed_ns=[(100_000,)]))


def writes_our_files() -> None:
    host = Path(__file__)
    problem: Any = SimpleNamespace(sha256="new", folder=host.parent / "none")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unchanged, "_changed_of_harness", lambda: [host])
        patched.setattr(unchanged, "is_own_user", lambda user: user == os.getuid() or user >= FIRST_USER)
        failed = change_meanwhile(problem, "new")
    assert isinstance(failed, SolutionFailed)
    raise failed


OBSERVED: list[tuple[CheckName, Callable[[], object], set[str]]] = [
    ("private_socket", spoke_unasked, {"answers", "unasked_bytes"}),
    ("claimed_times", lambda: require_plausible([5], 2, 100), {"calls", "times"}),
    (
        "wall_clock",
        lambda: require_explained(observed(ArmTurns(walls=USUAL), walls=SLOW)),
        {"hidden_ns_per_call", "claimed_ns_per_call", "besides_ns_per_call", "tolerance_ns", "allowance_ns"},
    ),
    (
        "tail",
        lambda: require_quiet_end(observed(tails_ns=[MS], claimed_ns=[(10,)])),
        {"tail_ns", "baseline_tail_ns", "tolerance_ns"},
    ),
    ("tail", lambda: require_tails(observed(calls=5, tailless_calls=2)), {"calls", "calls_without"}),
    ("tail", long_tail, {"shortest_ns", "longest_ns", "wall_ns"}),
    ("trace", lambda: read_traced_turn([], 2, around()), {"calls", "begins", "ends"}),
    (
        "phases",
        lambda: require_same_work(observed(traced=busy([5 * MS]), claimed_ns=[(MS,)])),
        {"traced_ns", "claimed_ns", "tolerance_ns"},
    ),
    ("phases", lambda: require_even_work(observed(claimed_ns=[(MS, 90 * MS)])), {"shortest_ns", "longest_ns"}),
    (
        "idle_gpu",
        lambda: require_idle(observed(ArmTurns(canaries_ns=[93_000] * 3), canaries_ns=[3 * MS] * 3)),
        {"canary_ns", "quiet_canary_ns", "tolerance_ns"},
    ),
    (
        "roofline",
        too_fast,
        {"median_ns", "least_bytes", "certain_bytes", "memory_bytes_per_s", "cache_bytes", "floor_ns"},
    ),
    ("patched_functions", lambda: require_originals(("time.time",)), {"functions"}),
    ("harness_files", writes_our_files, {"files"}),
]


@pytest.mark.parametrize(("check", "observe", "numbers"), OBSERVED)
def test_evidence_has_its_numbers(check: CheckName, observe: Callable[[], object], numbers: set[str]) -> None:
    with pytest.raises(SolutionFailed) as caught:
        observe()
    (evidence,) = caught.value.failure.evidence
    assert (evidence.check, set(evidence.numbers) >= numbers) == (check, True)


def test_no_check_is_left_out() -> None:
    assert {check for check, _, _ in OBSERVED} == set(CHECK_NAMES)
