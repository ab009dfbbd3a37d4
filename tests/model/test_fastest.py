"""The fastest of several baselines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from harness.model.arms import ArmName, Baseline
from harness.model.build import CompiledBaseline
from harness.model.timing import Timing, Turn, fastest_baseline
from harness.store.entry import entry_of
from tests.examples import passed, timing


def repeated(**blocks_ns: tuple[int, ...]) -> Timing:
    """By arm a call in each of six blocks, repeating these."""
    arms: dict[ArmName, tuple[int, ...]] = {**blocks_ns}  # type: ignore[dict-item]
    turns = [Turn(a, b, (ns[b % len(ns)],), ns[b % len(ns)]) for b in range(6) for a, ns in arms.items()]
    baselines: tuple[Baseline, ...] = tuple(arm for arm in arms if arm != "solution")
    return Timing("full", tuple(turns), baselines)


def test_one_baseline_alone_is_not_chosen() -> None:
    assert fastest_baseline(timing()) is None


def test_the_lowest_time_is_the_fastest_and_the_speedup_over_it_is_paired() -> None:
    fastest = fastest_baseline(repeated(eager=(3_000_000,), compile=(2_000_000,), solution=(1_000_000,)))
    assert fastest is not None
    assert (fastest.baseline, fastest.time_ns, fastest.ties) == ("compile", 2_000_000, ())
    assert fastest.speedup is not None
    assert (fastest.speedup.low, fastest.speedup.high) == pytest.approx((1.9939924, 2.0060257))


def test_who_may_be_as_fast_ties_with_it() -> None:
    """In one block of three eager is the faster, although its median is higher."""
    found = repeated(eager=(2_010_000, 2_010_000, 1_990_000), compile=(2_000_000,), solution=(1_000_000,))
    fastest = fastest_baseline(found)
    assert fastest is not None
    assert (fastest.baseline, fastest.ties) == ("compile", ("eager",))


def test_too_few_blocks_tell_nobody_apart() -> None:
    turns = tuple(Turn(a, 0, (ns,), ns) for a, ns in (("eager", 9), ("compile", 5), ("solution", 1)))  # type: ignore[arg-type]
    fastest = fastest_baseline(Timing("full", turns, ("eager", "compile")))
    assert fastest is not None
    assert (fastest.baseline, fastest.ties, fastest.speedup) == ("compile", ("eager",), None)


@pytest.mark.parametrize("counts", [(-1, 0, 0), (1, -1, 0), (1, 0, -1)])
def test_counts_are_not_negative(counts: tuple[int, int, int]) -> None:
    with pytest.raises(ValidationError):
        CompiledBaseline("compile", 1.0, *counts)


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_compiling_takes_a_time(seconds: float) -> None:
    with pytest.raises(ValidationError):
        CompiledBaseline("compile", seconds, 1, 0, 0)


def test_the_reference_in_the_solutions_precision_is_no_rival_of_eager() -> None:
    arms = {"eager": (3_000_000,), "eager-float16": (2_000_000,), "solution": (1_000_000,)}
    assert fastest_baseline(repeated(**arms)) is None
    fastest = fastest_baseline(repeated(**arms, compile=(2_500_000,)))
    assert fastest is not None
    assert fastest.baseline == "compile"


def test_an_entry_has_the_speedup_over_the_reference_in_the_declared_precision() -> None:
    made = passed(timing=repeated(**{"eager": (1_000_000,), "eager-float32": (3_000_000,), "solution": (2_000_000,)}))
    strict = replace(made, solution=replace(made.solution, precision="float32"))
    entry = entry_of(strict)
    assert entry.like is not None
    assert entry.like.speedup is not None
    assert (entry.like.baseline, entry.like.time_ns, entry.like.speedup.estimate) == ("eager-float32", 3_000_000, 1.5)
    assert entry.speedup is not None
    assert entry.speedup.estimate == 0.5
    assert entry_of(replace(made, solution=replace(made.solution, precision=None))).like is None
    assert entry_of(replace(made, solution=replace(made.solution, precision="tf32"))).like is None
