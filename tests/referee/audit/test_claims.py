"""Claims of a worker against the referee's clock."""

from __future__ import annotations

import pytest

from harness.model.verdict import Verdict
from harness.referee.audit.claims import require_originals, require_plausible
from harness.sandbox.outcome import SolutionFailed


@pytest.mark.parametrize(("claimed", "wall_ns"), [((10, 20), 31), ((10, 20), 30), ((1, 1), 10**9)])
def test_a_plausible_turn_goes_through(claimed: tuple[int, ...], wall_ns: int) -> None:
    assert require_plausible(claimed, 2, wall_ns) == claimed


@pytest.mark.parametrize(
    ("claimed", "observed", "numbers"),
    [
        ((10,), "1 times were reported for 2 timed calls", {"calls": 2, "times": 1}),
        ((10, 10, 10), "3 times were reported for 2 timed calls", {"calls": 2, "times": 3}),
        ((), "0 times were reported for 2 timed calls", {"calls": 2, "times": 0}),
        ((10, None), "1 times were reported for 2 timed calls", {"calls": 2, "times": 1}),
        ((10, 0), "a call of 0 ns was reported", {"claimed_ns": 0, "wall_ns": 100}),
        ((-5, 10), "a call of -5 ns was reported", {"claimed_ns": -5, "wall_ns": 100}),
        (
            (60, 41),
            "2 calls are claimed to have taken 101 ns, but the referee waited 100 ns",
            {"claimed_ns": 101, "wall_ns": 100},
        ),
    ],
)
def test_an_impossible_turn_is_cheating_with_its_evidence(
    claimed: tuple[int | None, ...], observed: str, numbers: dict[str, float]
) -> None:
    with pytest.raises(SolutionFailed) as caught:
        require_plausible(claimed, 2, 100)
    assert (caught.value.verdict, caught.value.failure.reason) == (Verdict.CHEATING, observed)
    (evidence,) = caught.value.failure.evidence
    assert (evidence.check, evidence.numbers) == ("claimed_times", numbers)


def test_originals_go_through() -> None:
    require_originals(())


def test_replaced_functions_are_named() -> None:
    with pytest.raises(SolutionFailed, match=r"time\.perf_counter, torch\.equal$") as caught:
        require_originals(("time.perf_counter", "torch.equal"))
    (evidence,) = caught.value.failure.evidence
    assert (evidence.check, evidence.numbers) == ("patched_functions", {"functions": 2})


def test_of_many_replaced_functions_the_first_are_named() -> None:
    with pytest.raises(SolutionFailed, match=r" e and 2 more$"):
        require_originals(tuple("abcdefg"))
