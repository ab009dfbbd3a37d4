"""What a roofline shows, without drawing it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.evaluation import Evaluation, Work
from harness.model.roofline import speed_of_light
from harness.reports.pictures.calls import samples_of
from harness.reports.pictures.roof import CeilingLine, Roof, Roofline, grouped, label_of, roof_of, roofline_of
from tests.examples import ceilings, passed, timing, with_light

H100 = ceilings(
    memory_peak_bytes_per_s=None,
    vector_operations_per_s=None,
    copy_bytes_per_s=3.0e12,
    read_bytes_per_s=3.1e12,
    write_bytes_per_s=3.2e12,
    cache_copy_bytes_per_s=5e12,
    matrix_operations_per_s={"float32": 50e12, "float64": 60e12, "tf32": 350e12, "bfloat16": 800e12, "int8": 1e15},
)
TIMING = timing(eager_ns=2_000_000, solution_ns=1_000_000)


def roof(work: Work, arithmetic: str = "float32") -> Roof:
    return roof_of(H100, work, speed_of_light(work, H100, arithmetic))


SOME_WORK = Work(10**9, 10**10)
FLOAT32 = roof(SOME_WORK)


def drawn(evaluation: Evaluation) -> Roofline:
    roofline = roofline_of(evaluation, samples_of(TIMING).arms)
    assert roofline is not None
    return roofline


def with_work(work: Work) -> Evaluation:
    """The evaluation of a solution in strict float32, where torch's switches let the reference compute in tf32."""
    evaluation = passed(timing=TIMING)
    return with_light(replace(evaluation, solution=replace(evaluation.solution, precision="float32")), work, H100)


def test_points_are_rates_of_the_least_work() -> None:
    picture = drawn(passed(timing=TIMING, work=Work(10**9, 2 * 10**10)))
    assert picture.intensity == 20
    eager, solution = picture.points
    assert (eager.arm.name, eager.bytes_per_s, eager.operations_per_s) == ("eager", 5e11, 1e13)
    assert (solution.arm.name, solution.bytes_per_s, solution.operations_per_s) == ("solution", 1e12, 2e13)
    assert (eager.share, eager.bound, picture.roof) == (None, None, None)


def test_what_lies_left_of_the_corner_is_bound_by_memory() -> None:
    # 10 operations a byte at 3.2 TB/s are 32 T, below float32's 50 T
    _, solution = drawn(with_work(SOME_WORK)).points
    assert solution.bound == "memory"
    assert solution.share == pytest.approx(1e13 / 32e12)


def test_what_lies_right_of_it_is_bound_by_the_arithmetic_of_each_arm() -> None:
    # 1000 operations a byte
    eager, solution = drawn(with_work(Work(10**7, 10**10))).points
    assert (eager.bound, solution.bound) == ("tf32", "float32")
    assert eager.share == pytest.approx(5e12 / 350e12)
    assert solution.share == pytest.approx(1e13 / 50e12)


def test_without_operations_bytes_are_held_against_memory() -> None:
    picture = drawn(with_work(Work(1_600_000_000, None)))
    assert picture.intensity is None
    _, solution = picture.points
    assert (solution.operations_per_s, solution.bound) == (None, "memory")
    assert solution.share == pytest.approx(0.5)


def test_shares_are_those_of_the_speed_of_light() -> None:
    # 2 GB at 3.2 TB/s: 625 µs of 1 ms
    evaluation = with_work(Work(2_000_000_000, None, 1_250_000_000))
    _, solution = drawn(evaluation).points
    assert solution.share == evaluation.share_of_light == pytest.approx(0.625)


def test_an_arithmetic_that_is_seldom_used_is_drawn_where_it_bounds() -> None:
    names = [ceiling.name for ceiling in roof(SOME_WORK, "float64").arithmetic]
    assert names == ["float32", "float64", "tf32", "bfloat16"]


def test_all_other_ceilings_are_drawn_whatever_the_precision() -> None:
    assert [(one.kind, one.name, one.rate) for one in (*FLOAT32.memory, *FLOAT32.arithmetic)] == [
        ("memory", "read", 3.1e12),
        ("memory", "write", 3.2e12),
        ("memory", "copy", 3.0e12),
        ("inside L2", "copy", 5e12),
        ("as measured", "float32", 50e12),
        ("as measured", "tf32", 350e12),
        ("as measured", "bfloat16", 800e12),
    ]


def test_what_bounds_bytes_is_among_their_ceilings_once() -> None:
    assert FLOAT32.of_bytes == FLOAT32.memory
    assert [one.name for one in FLOAT32.memory if FLOAT32.bounds_bytes(one)] == ["write"]
    mixed = replace(FLOAT32, memory_bytes_per_s=3.05e12)
    assert mixed.of_bytes == (*FLOAT32.memory, CeilingLine("memory", "as mixed here", 3.05e12))


def test_theory_is_drawn_beside_what_was_measured() -> None:
    told = replace(H100, memory_peak_bytes_per_s=3.35e12, compute_capability="9.0", sm_mhz=1830)
    found = roof_of(told, SOME_WORK, speed_of_light(SOME_WORK, told, "tf32"))
    assert (found.memory[0].name, found.memory[0].rate) == ("in theory", 3.35e12)
    assert [(one.kind, one.name) for one in found.arithmetic] == [
        ("in theory", "float32"),
        ("in theory", "tf32"),
        ("in theory", "bfloat16"),
    ]
    assert [one.name for one in found.memory if found.bounds_bytes(one)] == ["in theory"]


def test_ceilings_that_lie_close_share_a_label() -> None:
    memory, cache = grouped(FLOAT32.memory, close=1.4)[1], grouped(FLOAT32.memory, close=1.4)[0]
    assert label_of(memory, "B/s") == "memory: write 3.20, read 3.10, copy 3 TB/s"
    assert label_of(cache, "B/s") == "inside L2: copy 5 TB/s"


def test_ceilings_of_another_kind_or_further_away_have_their_own_label() -> None:
    near_cache = CeilingLine("inside L2", "copy", 3.3e12, is_cache=True)
    assert [len(group) for group in grouped((*FLOAT32.memory[:3], near_cache), close=1.4)] == [1, 3]
    assert [len(group) for group in grouped(FLOAT32.arithmetic, close=1.4)] == [1, 1, 1]


def test_a_label_names_each_unit_where_they_differ() -> None:
    group = (CeilingLine("as measured", "tf32", 1.2e12), CeilingLine("as measured", "float32", 0.9e12))
    assert label_of(group, "FLOP/s") == "as measured: tf32 1.20 TFLOP/s, float32 900 GFLOP/s"
