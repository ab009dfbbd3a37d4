"""Tail, phases and canaries, for scripted numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.referee.audit import idle_gpu, phases, tail
from harness.referee.audit.observed import ArmTurns
from harness.referee.audit.traced_turn import TracedTurn
from harness.sandbox.outcome import SolutionFailed
from tests.referee.audit.observed import busy, observed
from tests.wording import tells

US, MS = 1_000, 1_000_000


def require_quiet_end(solution_ns: list[int], baseline_ns: list[int]) -> None:
    baseline = ArmTurns(tails_ns=baseline_ns)
    tail.require_quiet_end(observed(baseline, tails_ns=solution_ns, claimed_ns=[(MS,)]))


def require_same_work(busy_ns: list[int]) -> None:
    phases.require_same_work(observed(traced=busy(busy_ns), claimed_ns=[(MS,)]))


def require_even_work(busy_ns: list[list[int]], claimed_ns: list[list[int]], baseline_ns: list[list[int]]) -> None:
    baseline = ArmTurns(claimed_ns=list(map(tuple, baseline_ns)))
    phases.require_even_work(observed(baseline, traced_as_timed=busy(*busy_ns), claimed_ns=claimed_ns))


def require_idle(after_ns: list[int], quiet_ns: list[int]) -> tuple[str, ...]:
    return idle_gpu.require_idle(observed(ArmTurns(canaries_ns=quiet_ns), canaries_ns=after_ns))


def check_of(failed: SolutionFailed) -> str:
    (evidence,) = failed.failure.evidence
    return evidence.check


@pytest.mark.parametrize(
    ("solution_ns", "baseline_ns"),
    [
        ([], []),
        ([5 * US] * 9, [4 * US] * 9),
        ([5 * US] * 6 + [20 * MS] * 3, [5 * US] * 9),
        ([120 * US] * 5, [90 * US] * 5),
    ],
)
def test_a_short_or_rare_tail_is_let_pass(solution_ns: list[int], baseline_ns: list[int]) -> None:
    require_quiet_end(solution_ns, baseline_ns)


def test_a_tail_after_most_calls_is_cheating() -> None:
    with pytest.raises(SolutionFailed, match=r"busy .*1800 µs") as caught:
        require_quiet_end([1800 * US] * 6 + [3 * US] * 3, [3 * US] * 9)
    assert check_of(caught.value) == "tail"


def test_a_call_on_an_idle_device_is_held_to_its_own_claim() -> None:
    """Held, timed calls take 1 ms and end quietly; idle ones claim 1 ms, too, and leave as much behind."""
    late = observed(idle_tails_ns=[MS] * 3, idle_claims_ns=[MS] * 3, tails_ns=[5 * US], claimed_ns=[(MS,)])
    tail.require_quiet_end(late)
    with pytest.raises(SolutionFailed):
        tail.require_quiet_end_when_idle(late)
    deferred = observed(traced=busy([2 * MS]), idle_claims_ns=[MS], claimed_ns=[(2 * MS,)])
    phases.require_same_work(deferred)
    with pytest.raises(SolutionFailed):
        phases.require_same_work_when_idle(deferred)


@pytest.mark.parametrize("busy_ns", [[], [900 * US], [100 * US], [1290 * US], [900 * US, 910 * US, 9 * MS]])
def test_a_traced_call_may_differ_a_little_and_be_much_shorter(busy_ns: list[int]) -> None:
    require_same_work(busy_ns)


def test_more_work_while_traced_is_cheating() -> None:
    with pytest.raises(SolutionFailed, match=r"busy .*5000 µs.* 1000 µs") as caught:
        require_same_work([5 * MS, 5 * MS, 5 * MS])
    assert check_of(caught.value) == "phases"


@pytest.mark.parametrize(
    "after_ns", [[], [95 * US] * 5, [300 * US, 95 * US, 95 * US], [2 * MS, 96 * US, 97 * US, 96 * US]]
)
def test_an_idle_gpu_is_let_pass(after_ns: list[int]) -> None:
    assert require_idle(after_ns, [93 * US, 300 * US, 94 * US]) == ()


def test_a_gpu_that_works_between_turns_is_cheating() -> None:
    with pytest.raises(SolutionFailed, match=r"2\.30 ms .* 0\.09 ms") as caught:
        require_idle([2300 * US] * 3, [93 * US] * 3)
    assert check_of(caught.value) == "idle_gpu"


def test_on_a_gpu_that_others_use_nobody_is_accused() -> None:
    """One quiet canary among the baseline's doesn't make the GPU an idle one."""
    (remark,) = require_idle([2400 * US] * 9, [2300 * US] * 8 + [93 * US])
    assert tells(remark, "shared", "another process", "baseline's turns")


def test_a_neighbour_that_works_by_fits_and_starts_is_no_accusation() -> None:
    (remark,) = require_idle([2400 * US] * 5 + [93 * US] * 4, [2300 * US] * 3 + [93 * US] * 6)
    assert tells(remark, "shared", "another process")


def test_a_few_busy_canaries_of_the_baselines_excuse_nobody() -> None:
    with pytest.raises(SolutionFailed, match="busy"):
        require_idle([2400 * US] * 9, [2300 * US] * 2 + [93 * US] * 7)


EVEN = [[MS, MS, MS], [MS, 2 * MS], [5 * US, 60 * US, 5 * US], [MS]]
HELD_UP = [[10 * US, 9 * MS, 10 * US], [10 * US, 7 * MS], [12 * US, 10 * US, 8 * MS], [10 * US, 11 * US], [10 * US]]


def test_calls_of_a_turn_may_differ_as_calls_do() -> None:
    require_even_work(EVEN, EVEN, [])
    require_even_work([], [], EVEN)


def test_a_call_that_captures_a_graph_takes_nobodys_work() -> None:
    """Others of its turn work as long as a call that is alone."""
    require_even_work([[8 * MS], [8 * MS, 380 * MS, 8 * MS]], [(8 * MS, 380 * MS, 8 * MS)], EVEN)
    with pytest.raises(SolutionFailed, match="some did the work of others"):
        require_even_work([[8 * MS], [6 * MS, 380 * MS, 6 * MS]], EVEN, EVEN)


def test_a_traced_call_during_which_the_device_waited_shows_no_little_work() -> None:
    """The host can have answered it, while timed turns move their work into one call."""
    on_host = [TracedTurn((replace(busy([10 * US])[0].calls[0], interval_ns=MS),), (), 0.0)]
    turns = [(3 * MS, 20 * US, 20 * US)] * 8
    with pytest.raises(SolutionFailed, match="some did the work of others"):
        phases.require_even_work(
            observed(ArmTurns(claimed_ns=list(map(tuple, EVEN))), traced_as_timed=on_host, claimed_ns=turns)
        )


@pytest.mark.parametrize("interval_ns", [600 * US, 750 * US])
def test_a_call_that_is_held_up_is_excused_where_the_device_waits_in_all(interval_ns: int) -> None:
    """Of 600 µs the device works for 100, and tracing adds to what the host takes."""
    call = replace(busy([100 * US])[0].calls[0], interval_ns=interval_ns)
    turns = [(5 * MS, 600 * US, 600 * US)] * 8
    even = ArmTurns(claimed_ns=[(60 * US, 61 * US)] * 8)
    phases.require_even_work(observed(even, traced_as_timed=[TracedTurn((call,) * 3, (), 0.0)], claimed_ns=turns))


def test_a_turn_that_was_held_up_now_and_then_is_let_pass() -> None:
    require_even_work([], [[10 * US, 9 * MS], [10 * US, 12 * US], [10 * US, 11 * US], [10 * US]], EVEN)


def test_where_the_baselines_calls_are_held_up_too_nobody_is_accused() -> None:
    require_even_work([], HELD_UP, [[MS, 8 * MS], [MS, MS, 5 * MS], [6 * MS, MS]])
    require_even_work(HELD_UP[:2], [], [[MS, 8 * MS], [MS, MS, 5 * MS], [6 * MS, MS]])


def test_a_long_call_beside_one_that_takes_as_long_as_its_kernels_was_held_up() -> None:
    require_even_work([[MS, MS, MS]], [[MS, 10 * MS, MS]] * 5, EVEN)


@pytest.mark.parametrize("calls", [3, 30, 200])
def test_traced_calls_may_be_a_little_slower_than_those_of_a_turn_that_was_held_up(calls: int) -> None:
    turn = [10 * MS, *[MS] * (calls - 1)]
    require_even_work([[1_050 * US] * calls], [turn] * 8, EVEN)


@pytest.mark.parametrize(
    ("busy_ns", "claimed_ns"),
    [
        ([MS, MS, MS], [3 * MS, US, US]),
        ([MS, MS, MS], [60 * MS, US, US]),
        ([25 * US] * 100, [2_005 * US, *[5 * US] * 99]),
        ([MS] * 25, [6_520 * US, *[770 * US] * 24]),
        ([MS] * 100, [10 * MS, *[910 * US] * 99]),
    ],
    ids=["all", "and idles", "of little", "a quarter", "a tenth"],
)
def test_who_moves_work_from_call_to_call_was_not_held_up(busy_ns: list[int], claimed_ns: list[int]) -> None:
    with pytest.raises(SolutionFailed, match="are claimed to take"):
        require_even_work([busy_ns], [claimed_ns] * 8, EVEN)


@pytest.mark.parametrize("baseline_ns", [[], EVEN, [[MS, 9 * MS], [MS, MS], [MS, MS]]])
def test_calls_that_are_uneven_without_the_baselines_being_so_are_cheating(baseline_ns: list[list[int]]) -> None:
    with pytest.raises(SolutionFailed, match=r"claimed .* 10 and 9000 µs.* 3 of 4"):
        require_even_work([], HELD_UP, baseline_ns)


@pytest.mark.parametrize("is_traced", [True, False])
def test_one_call_that_does_the_work_of_all_is_cheating(is_traced: bool) -> None:
    turns = [[5 * MS, 10 * US, 10 * US, 10 * US, 10 * US], [3 * MS, 10 * US, 10 * US]]
    with pytest.raises(SolutionFailed, match=r"10 and 5000 µs.* 2 of 2") as caught:
        require_even_work(turns if is_traced else EVEN, EVEN if is_traced else turns, EVEN)
    assert check_of(caught.value) == "phases"


@pytest.mark.parametrize("busy_ns", [[[MS, 6 * MS]], [[MS, 6 * MS], [MS, MS]], [[MS, 6 * MS], [MS]]])
def test_one_traced_turn_that_is_somewhat_uneven_decides_nothing(busy_ns: list[list[int]]) -> None:
    require_even_work(busy_ns, EVEN, EVEN)


def test_two_traced_turns_that_are_uneven_agree() -> None:
    with pytest.raises(SolutionFailed, match=r"busy .*1000 and 6000 µs.* 2 of 2"):
        require_even_work([[MS, 6 * MS], [MS, 7 * MS]], EVEN, EVEN)


def test_one_of_many_traced_turns_may_have_been_held_up() -> None:
    require_even_work([[5 * MS, 10 * US], *[[MS, MS]] * 4], EVEN, EVEN)
    with pytest.raises(SolutionFailed, match="2 of 6"):
        require_even_work([[5 * MS, 10 * US], [5 * MS, 10 * US], *[[MS, MS]] * 4], EVEN, EVEN)


def test_one_traced_turn_that_is_drastically_uneven_is_enough() -> None:
    with pytest.raises(SolutionFailed, match=r"busy .*10 and 5000 µs.* 1 of 2"):
        require_even_work([[5 * MS, 10 * US, 10 * US], [MS, MS]], EVEN, EVEN)
