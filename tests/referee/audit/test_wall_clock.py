"""What a call costs besides its claimed time, for scripted turns."""

from __future__ import annotations

import random
import statistics

import pytest

from harness.referee.audit import wall_clock
from harness.referee.audit.observed import ArmTurns, WallTurn
from harness.referee.audit.traced_turn import TracedTurn
from harness.referee.audit.wall_clock import hidden_times
from harness.sandbox.outcome import SolutionFailed
from tests.referee.audit.observed import observed
from tests.wording import tells

MS = 1_000_000


def turns(claimed_ns: int, besides_ns: int, hidden_ns: int = 0, noise_ns: int = 0) -> list[WallTurn]:
    """24 turns of 1, 3 and 5 calls; a turn costs 900 µs whatever its length."""
    rng = random.Random(5)
    return [
        WallTurn(
            calls,
            calls * claimed_ns,
            900_000 + calls * (claimed_ns + besides_ns + hidden_ns) + rng.randint(0, noise_ns),
        )
        for _ in range(8)
        for calls in (1, 3, 5)
    ]


def require_explained(solution: list[WallTurn], baseline: list[WallTurn], stored_ns: int = 0) -> tuple[str, ...]:
    """`stored_ns`: how long the device itself stores the outputs of a solution's call, element by element."""
    traced = [TracedTurn((), (), stored_ns)]
    return wall_clock.require_explained(observed(ArmTurns(walls=baseline), walls=solution, traced=traced))


def excess_ns(solution: list[WallTurn], baseline: list[WallTurn]) -> float:
    return hidden_times(solution, baseline)[0].per_call_ns


def test_the_slope_leaves_the_turns_constant_out() -> None:
    late = [WallTurn(turn.calls, turn.claimed_ns, turn.wall_ns + 5 * MS) for turn in turns(2 * MS, 400_000)]
    assert excess_ns(late, turns(MS, 400_000)) == 0


def test_work_that_a_turn_begins_with_is_found_however_many_calls_it_has() -> None:
    """Who computes the answers for all 5 places of the table when woken needs 5 times 1.5 ms, for one call, too."""
    ahead = [WallTurn(turn.calls, turn.claimed_ns, turn.wall_ns + 7_500_000) for turn in turns(20_000, 400_000)]
    assert excess_ns(ahead, turns(2 * MS, 400_000)) == 0
    with pytest.raises(SolutionFailed, match=r"1500 µs .* 20 µs") as caught:
        require_explained(ahead, turns(2 * MS, 400_000))
    assert caught.value.failure.evidence[0].check == "wall_clock"


def test_pauses_at_random_excuse_no_work_that_a_turn_begins_with() -> None:
    ahead = [WallTurn(turn.calls, turn.claimed_ns, turn.wall_ns + 34 * MS) for turn in turns(20_000, 400_000)]
    baseline = [WallTurn(turn.calls, turn.claimed_ns, turn.wall_ns + 30 * MS) for turn in turns(2 * MS, 400_000)]
    with pytest.raises(SolutionFailed):
        require_explained(jittered(ahead, 10 * MS), baseline)


def test_pauses_at_random_excuse_nothing_where_all_turns_are_of_one_call() -> None:
    """Whose first call is slow has turns of one call, and a turn's constant of 30 ms is no reason for noise."""
    solution = [WallTurn(1, 20_000, 33 * MS + number % 2 * 12 * MS) for number in range(24)]
    baseline = [WallTurn(1, 2 * MS, 33 * MS)] * 24
    with pytest.raises(SolutionFailed):
        require_explained(solution, baseline)


@pytest.mark.parametrize("longer_ns", [900_000, 1_550_000])
def test_turns_may_differ_a_little_in_what_they_begin_with(longer_ns: int) -> None:
    """A process that has loaded torch.compile does all that a turn needs more slowly."""
    later = [WallTurn(turn.calls, turn.claimed_ns, turn.wall_ns + longer_ns) for turn in turns(MS, 400_000)]
    require_explained(later, turns(2 * MS, 400_000))


def test_a_turn_that_was_held_up_does_not_move_the_slope() -> None:
    disturbed = turns(2 * MS, 400_000)
    disturbed[4] = WallTurn(3, 6 * MS, 400 * MS)
    disturbed[9] = WallTurn(1, 2 * MS, 300 * MS)
    assert abs(excess_ns(disturbed, turns(MS, 400_000))) < 20_000


def test_with_one_length_alone_turns_of_that_length_are_compared() -> None:
    """The baseline had longer turns while it warmed up; the solution's first call took long, so all others are 1."""
    solution = [WallTurn(1, MS, 2_500_000)] * 8
    baseline = [WallTurn(5, 5 * MS, 7 * MS)] * 2 + [WallTurn(1, MS, 2_400_000)] * 8
    assert excess_ns(solution, baseline) == 100_000
    require_explained(solution, baseline)


def test_arms_without_a_common_length_are_not_compared() -> None:
    assert hidden_times([WallTurn(1, MS, 9 * MS)] * 8, [WallTurn(5, 5 * MS, 6 * MS)] * 8) == []


@pytest.mark.parametrize("besides_ns", [0, 380_000, 400_000, 480_000])
def test_an_honest_solution_is_explained(besides_ns: int) -> None:
    require_explained(turns(MS, besides_ns, noise_ns=60_000), turns(2 * MS, 400_000, noise_ns=60_000))


def test_a_solution_whose_host_works_while_the_device_flushes_is_explained() -> None:
    """Its calls cost less besides than the baseline's: that is never held against it."""
    require_explained(turns(5 * MS, 100_000), turns(2 * MS, 400_000))


def test_hidden_work_is_found_with_its_numbers() -> None:
    with pytest.raises(SolutionFailed, match=r"1500 µs .* 500 µs") as caught:
        require_explained(turns(500_000, 400_000, hidden_ns=1_500_000), turns(2 * MS, 400_000))
    (evidence,) = caught.value.failure.evidence
    assert evidence.check == "wall_clock"
    assert evidence.numbers["hidden_ns_per_call"] == 1_500_000
    assert evidence.numbers["claimed_ns_per_call"] == 500_000
    assert evidence.numbers["tolerance_ns"] == 250_000


def test_hidden_work_is_found_under_noise() -> None:
    with pytest.raises(SolutionFailed):
        require_explained(turns(500_000, 400_000, 500_000, noise_ns=80_000), turns(MS, 400_000, noise_ns=80_000))


def test_a_reason_that_was_seen_is_allowed_for() -> None:
    require_explained(turns(MS, 3_400_000), turns(MS, 400_000), stored_ns=2_800_000)


def test_nothing_to_compare_with_is_no_accusation() -> None:
    require_explained([], turns(MS, 1))
    require_explained(turns(MS, 1), [])


def jittered(made: list[WallTurn], most_ns: int) -> list[WallTurn]:
    """Every second turn of each length pauses for so long."""
    return [
        WallTurn(turn.calls, turn.claimed_ns, turn.wall_ns + (number // 3 % 2) * most_ns)
        for number, turn in enumerate(made)
    ]


def test_pauses_at_random_excuse_no_hidden_work() -> None:
    solution = jittered(turns(500_000, 400_000, hidden_ns=3 * MS), 60 * MS)
    excess = hidden_times(solution, turns(2 * MS, 400_000))[0]
    assert excess.uncertain_ns > excess.per_call_ns > 2 * MS  # what once let it pass
    with pytest.raises(SolutionFailed) as caught:
        require_explained(solution, turns(2 * MS, 400_000, noise_ns=60_000))
    assert caught.value.failure.evidence[0].check == "wall_clock"


def test_where_both_arms_are_noisy_the_noise_counts() -> None:
    solution, baseline = (jittered(turns(MS, besides, noise_ns=60_000), 20 * MS) for besides in (700_000, 400_000))
    (remark,) = require_explained(solution, baseline)
    assert tells(remark, "wall clock can't", "vary")


def test_a_quiet_measurement_needs_no_remark() -> None:
    assert require_explained(turns(MS, 420_000, noise_ns=60_000), turns(2 * MS, 400_000, noise_ns=60_000)) == ()


def test_slopes_alone_may_be_uncertain() -> None:
    """Few turns of each length, as each process of several has: the longest still bound what a call costs."""
    solution, baseline = (
        [WallTurn(calls, calls * MS, (9 + 2 * calls) * MS + away_ns) for calls in (2, 3) for away_ns in wander_ns]
        for wander_ns in ((-900_000, -200_000, 300_000, 900_000), (-800_000, -300_000, 200_000, 800_000))
    )
    by_slopes, in_longest = hidden_times(solution, baseline)
    call_ns = statistics.median(turn.wall_ns / turn.calls for turn in solution)
    assert by_slopes.uncertain_ns > 0.25 * call_ns > in_longest.uncertain_ns
    assert require_explained(solution, baseline) == ()
