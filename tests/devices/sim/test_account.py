"""What a simulator's worker tells, against the totals of the simulator."""

from __future__ import annotations

import pytest

from harness.devices.sim.account import AccountOfFindings, FindingsWithheld
from harness.sandbox.wire.device import Account, Finding
from harness.sandbox.wire.messages import Constructed, Describe, Raised, TakeTurn, TurnTaken

TURN = TakeTurn(())


def reply(launches: int, account: Account | None, **findings: int) -> TurnTaken:
    found = tuple(Finding(kind.replace("_", "-"), "seen", count=count) for kind, count in findings.items())
    return TurnTaken((), found, launches, account=account)


def test_what_is_told_in_parts_adds_up() -> None:
    account = AccountOfFindings()
    account.checked(Describe(), Constructed((), ()))
    account.checked(TURN, reply(3, Account(3, {"race": 2}, 0), race=2))
    account.checked(
        TURN, Raised("RuntimeError", "no", "", (), (Finding("race", "seen"),), 1, Account(4, {"race": 3}, 0))
    )
    account.checked(TakeTurn((), traced=True), reply(2, Account(6, {"race": 3}, 1)))


def at_a_line(kind: str, line: int, code: str = "hash *= 31;") -> Finding:
    return Finding(kind, "seen", file="/x.cu", line=line, code=code)


OVERFLOW = Account(1, {"signed-overflow at /x.cu:7: hash *= 31;": 1}, 0)


def test_findings_have_the_runtimes_kind_once_their_line_is_read() -> None:
    totals = Account(1, {**OVERFLOW.findings, "array-index-out-of-bounds at /x.cu:9: tile[0][i] = 1;": 1}, 0)
    found = at_a_line("index-overflow", 7), at_a_line("array-row-overrun", 9, "tile[0][i] = 1;")
    AccountOfFindings().checked(TURN, TurnTaken((), found, 1, account=totals))


@pytest.mark.parametrize("moved", [at_a_line("signed-overflow", 8), at_a_line("signed-overflow", 7, "x = 1;")])
def test_what_a_line_decides_can_not_be_told_of_another(moved: Finding) -> None:
    with pytest.raises(FindingsWithheld, match=r"\(1 .*signed-overflow .*/x.cu:7: hash \*= 31;\)"):
        AccountOfFindings().checked(TURN, TurnTaken((), (moved,), 1, account=OVERFLOW))


def test_what_the_worker_finds_by_itself_needs_no_total() -> None:
    AccountOfFindings().checked(TURN, reply(1, Account(1, {}, 0), unwritten_output=1))


def test_a_launch_that_was_kept_from_the_referee_is_cheating() -> None:
    account = AccountOfFindings()
    account.checked(TURN, reply(3, Account(3, {}, 0)))
    with pytest.raises(FindingsWithheld, match=r"5 launches, .*3 .*report") as caught:
        account.checked(TURN, reply(0, Account(5, {}, 0)))
    assert caught.value.numbers == {"launches": 5, "launches_told": 3, "findings": 0, "findings_kept": 0}


def test_a_fault_can_not_be_exchanged_for_a_harmless_finding() -> None:
    with pytest.raises(FindingsWithheld, match=r"\(2 of race\)") as caught:
        AccountOfFindings().checked(TURN, reply(1, Account(1, {"race": 2}, 0), barrier_divergence=2))
    assert caught.value.numbers["findings_kept"] == 2


def test_an_exception_is_no_way_around() -> None:
    with pytest.raises(FindingsWithheld, match="1 of race"):
        AccountOfFindings().checked(TURN, Raised("RuntimeError", "no", "", (), (), 1, Account(1, {"race": 1}, 0)))


@pytest.mark.parametrize("traces", [0, 2])
def test_a_trace_that_began_anew_or_never_is_cheating(traces: int) -> None:
    with pytest.raises(
        FindingsWithheld, match=f"1 turns were to be traced, and a trace was begun {traces} times"
    ) as caught:
        AccountOfFindings().checked(TakeTurn((), traced=True), reply(1, Account(1, {}, traces)))
    assert caught.value.numbers == {"traces": traces, "traced_turns": 1}


def test_an_account_that_is_left_out_is_cheating() -> None:
    with pytest.raises(FindingsWithheld, match="was left out"):
        AccountOfFindings().checked(TURN, reply(0, None))


def test_what_an_unknown_line_excuses_is_a_fault_in_replies_of_both_kinds() -> None:
    raised = Raised("RuntimeError", "no", "", (), (at_a_line("signed-overflow", 7),), 1, OVERFLOW)
    for reply in (raised, TurnTaken((), (at_a_line("signed-overflow", 7),), 1, account=OVERFLOW)):
        checked = AccountOfFindings().checked(TURN, reply)
        assert isinstance(checked, (Raised, TurnTaken))
        assert [finding.kind for finding in checked.findings] == ["index-overflow"]


def test_a_harmless_finding_in_the_solutions_files_stays_one() -> None:
    account = AccountOfFindings()
    account.read_files({"x.cu": "unsigned x = 1;\nhash *= 31;"})
    reply = TurnTaken((), (at_a_line("signed-overflow", 7),), 1, account=OVERFLOW)
    assert account.checked(TURN, reply) == reply
