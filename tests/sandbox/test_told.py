"""What a simulator's worker tells, against the totals of the simulator."""

from __future__ import annotations

import pytest

from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.told import Told
from harness.sandbox.wire.device import Account, Finding
from harness.sandbox.wire.messages import Constructed, Describe, Raised, TakeTurn, TurnTaken

TURN = TakeTurn(())


def reply(launches: int, account: Account | None, **findings: int) -> TurnTaken:
    found = tuple(Finding(kind.replace("_", "-"), "seen", count=count) for kind, count in findings.items())
    return TurnTaken((), found, launches, account=account)


def evidence_of(caught: pytest.ExceptionInfo[SolutionFailed]) -> tuple[str, dict[str, float]]:
    assert caught.value.verdict is Verdict.CHEATING
    (evidence,) = caught.value.failure.evidence
    return evidence.check, evidence.numbers


def test_what_is_told_in_parts_adds_up() -> None:
    told = Told()
    told.add(Describe(), Constructed((), ()))
    told.add(TURN, reply(3, Account(3, {"race": 2}, 0), race=2))
    told.add(TURN, Raised("RuntimeError", "no", "", (), (Finding("race", "seen"),), 1, Account(4, {"race": 3}, 0)))
    told.add(TakeTurn((), traced=True), reply(2, Account(6, {"race": 3}, 1)))


def at_a_line(kind: str, line: int, code: str = "hash *= 31;") -> Finding:
    return Finding(kind, "seen", file="/x.cu", line=line, code=code)


OVERFLOW = Account(1, {"signed-overflow at /x.cu:7: hash *= 31;": 1}, 0)


def test_findings_have_the_runtimes_kind_once_their_line_is_read() -> None:
    account = Account(1, {**OVERFLOW.findings, "array-index-out-of-bounds at /x.cu:9: tile[0][i] = 1;": 1}, 0)
    found = at_a_line("index-overflow", 7), at_a_line("array-row-overrun", 9, "tile[0][i] = 1;")
    Told().add(TURN, TurnTaken((), found, 1, account=account))


@pytest.mark.parametrize("moved", [at_a_line("signed-overflow", 8), at_a_line("signed-overflow", 7, "x = 1;")])
def test_what_a_line_decides_can_not_be_told_of_another(moved: Finding) -> None:
    with pytest.raises(SolutionFailed, match=r"kept back \(1 of signed-overflow at /x.cu:7: hash \*= 31;\)"):
        Told().add(TURN, TurnTaken((), (moved,), 1, account=OVERFLOW))


def test_what_the_worker_finds_by_itself_needs_no_total() -> None:
    Told().add(TURN, reply(1, Account(1, {}, 0), unwritten_output=1))


def test_a_launch_that_was_kept_from_the_referee_is_cheating() -> None:
    told = Told()
    told.add(TURN, reply(3, Account(3, {}, 0)))
    with pytest.raises(SolutionFailed, match="seen 5 launches, of which 3 were told: its report") as caught:
        told.add(TURN, reply(0, Account(5, {}, 0)))
    assert evidence_of(caught) == (
        "trace",
        {"launches": 5, "launches_told": 3, "findings": 0, "findings_kept": 0},
    )


def test_a_fault_can_not_be_exchanged_for_a_harmless_finding() -> None:
    with pytest.raises(SolutionFailed, match=r"findings were kept back \(2 of race\)") as caught:
        Told().add(TURN, reply(1, Account(1, {"race": 2}, 0), barrier_divergence=2))
    assert evidence_of(caught)[1]["findings_kept"] == 2


def test_an_exception_is_no_way_around() -> None:
    with pytest.raises(SolutionFailed, match="1 of race"):
        Told().add(TURN, Raised("RuntimeError", "no", "", (), (), 1, Account(1, {"race": 1}, 0)))


@pytest.mark.parametrize("traces", [0, 2])
def test_a_trace_that_began_anew_or_never_is_cheating(traces: int) -> None:
    with pytest.raises(
        SolutionFailed, match=f"1 turns were to be traced, and a trace was begun {traces} times"
    ) as caught:
        Told().add(TakeTurn((), traced=True), reply(1, Account(1, {}, traces)))
    assert evidence_of(caught) == ("trace", {"traces": traces, "traced_turns": 1})


def test_an_account_that_is_left_out_is_cheating() -> None:
    with pytest.raises(SolutionFailed, match="was left out"):
        Told().add(TURN, reply(0, None))
