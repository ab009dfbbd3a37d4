"""What a roofline shows, without drawing it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.records.ceilings import Ceilings
from harness.records.evaluation import Work
from harness.reports.pictures.roof import Ceiling, roof_of
from harness.reports.pictures.roofline import grouped, label_of, roofline_picture
from harness.reports.pictures.samples import samples_picture
from tests.examples import timing

H100 = Ceilings("NVIDIA H100", "580.65", 50 * 2**20, 3.0e12, 3.1e12, 3.2e12, 5e12, 50e12, 350e12, 800e12)
ARMS = samples_picture(timing(eager_ns=2_000_000, solution_ns=1_000_000)).arms
FLOAT32, TF32 = roof_of(H100, "float32"), roof_of(H100, "tf32")


def test_points_are_rates_of_the_least_work() -> None:
    picture = roofline_picture(ARMS, Work(10**9, 2 * 10**10), None, None)
    assert picture.intensity == 20
    eager, solution = picture.points
    assert (eager.arm, eager.bytes_per_s, eager.operations_per_s) == ("eager", 5e11, 1e13)
    assert (solution.arm, solution.bytes_per_s, solution.operations_per_s) == ("solution", 1e12, 2e13)
    assert (eager.share, eager.bound, picture.roof) == (None, None, None)


def test_what_lies_left_of_the_corner_is_bound_by_memory() -> None:
    # 10 operations a byte at 3.2 TB/s are 32 T, below float32's 50 T
    _, solution = roofline_picture(ARMS, Work(10**9, 10**10), FLOAT32, FLOAT32).points
    assert solution.bound == "memory"
    assert solution.share == pytest.approx(1e13 / 32e12)


def test_what_lies_right_of_it_is_bound_by_the_arithmetic_of_each_arm() -> None:
    # 1000 operations a byte
    work = Work(10**7, 10**10)
    eager, solution = roofline_picture(ARMS, work, FLOAT32, TF32).points
    assert (eager.bound, solution.bound) == ("tf32", "float32")
    assert eager.share == pytest.approx(5e12 / 350e12)
    assert solution.share == pytest.approx(1e13 / 50e12)


def test_without_operations_bytes_are_held_against_memory() -> None:
    picture = roofline_picture(ARMS, Work(1_600_000_000, None), FLOAT32, FLOAT32)
    assert picture.intensity is None
    _, solution = picture.points
    assert (solution.operations_per_s, solution.bound) == (None, "memory")
    assert solution.share == pytest.approx(0.5)


def test_an_arithmetic_that_was_not_measured_bounds_nothing() -> None:
    _, solution = roofline_picture(ARMS, Work(10**7, 10**10), roof_of(H100, "float64"), FLOAT32).points
    assert solution.bound == "memory"
    assert solution.share == pytest.approx(1e13 / 3.2e15)


def test_half_precisions_are_held_against_one_rate() -> None:
    bounds = [roof_of(H100, precision).bound for precision in ("float16", "bfloat16")]
    assert [bound and bound.rate for bound in bounds] == [800e12, 800e12]


def test_all_ceilings_are_drawn_whatever_the_precision() -> None:
    assert [(one.kind, one.name, one.rate) for one in (*FLOAT32.memory, *FLOAT32.arithmetic)] == [
        ("memory", "read", 3.1e12),
        ("memory", "write", 3.2e12),
        ("memory", "copy", 3.0e12),
        ("inside L2", "copy", 5e12),
        ("matrix product", "float32", 50e12),
        ("matrix product", "tf32", 350e12),
        ("matrix product", "bfloat16", 800e12),
    ]


def test_what_bounds_bytes_is_among_their_ceilings_once() -> None:
    assert FLOAT32.of_bytes == FLOAT32.memory
    assert [one.name for one in FLOAT32.memory if FLOAT32.bounds_bytes(one)] == ["write"]
    mixed = replace(FLOAT32, memory_bytes_per_s=3.05e12)
    assert mixed.of_bytes == (*FLOAT32.memory, Ceiling("memory", "as mixed here", 3.05e12))


def test_ceilings_that_lie_close_share_a_label() -> None:
    memory, cache = grouped(FLOAT32.memory, close=1.4)[1], grouped(FLOAT32.memory, close=1.4)[0]
    assert label_of(memory, "B/s") == "memory: write 3.20, read 3.10, copy 3 TB/s"
    assert label_of(cache, "B/s") == "inside L2: copy 5 TB/s"


def test_ceilings_of_another_kind_or_further_away_have_their_own_label() -> None:
    near_cache = Ceiling("inside L2", "copy", 3.3e12, is_cache=True)
    assert [len(group) for group in grouped((*FLOAT32.memory[:3], near_cache), close=1.4)] == [1, 3]
    assert [len(group) for group in grouped(FLOAT32.arithmetic, close=1.4)] == [1, 1, 1]


def test_a_label_names_each_unit_where_they_differ() -> None:
    group = (Ceiling("matrix product", "tf32", 1.2e12), Ceiling("matrix product", "float32", 0.9e12))
    assert label_of(group, "FLOP/s") == "matrix product: tf32 1.20 TFLOP/s, float32 900 GFLOP/s"
