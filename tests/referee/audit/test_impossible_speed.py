"""Speeds against an H100's ceilings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.model.ceilings import Ceilings
from harness.model.evaluation import Work
from harness.referee.audit.impossible_speed import inputs_that_matter, require_possible
from harness.referee.audit.observed import ArmTurns, Facts
from harness.referee.audit.traced_turn import OutputSize
from harness.sandbox.outcome import SolutionFailed
from tests.examples import ceilings
from tests.referee.audit.observed import observed
from tests.wording import tells

H100 = ceilings(
    cache_bytes=50_000_000,
    memory_peak_bytes_per_s=None,
    copy_bytes_per_s=3.0e12,
    read_bytes_per_s=3.0e12,
    write_bytes_per_s=3.0e12,
    matrix_operations_per_s={"float32": 51e12, "bfloat16": 800e12, "int8": 1400e12},
)
MS = 1e6


def never() -> float:
    raise AssertionError("asked without need")


def judge(
    median_ns: float,
    work: Work,
    inputs: Callable[[], float] = never,
    outputs: int = 0,
    baseline_ns: float | None = None,
    device: Ceilings = H100,
) -> tuple[str, ...]:
    facts = Facts(outputs=(OutputSize(outputs, 1),), work=work, ceilings=device, inputs_that_matter=inputs)
    baseline = ArmTurns(claimed_ns=[(round(baseline_ns),)] if baseline_ns is not None else [])
    return require_possible(observed(baseline, facts, median_ns, claimed_ns=[(round(median_ns),)]))


@pytest.mark.parametrize(
    ("median_ns", "work"),
    [
        (1.0 * MS, Work(3_000_000_000, None)),  # exactly the device's rate
        (0.01 * MS, Work(1_000_000, 800_000_000_000)),
    ],
)
def test_a_possible_speed_needs_no_word(median_ns: float, work: Work) -> None:
    assert judge(median_ns, work) == ()


def test_data_that_fits_the_cache_is_a_remark_with_the_arithmetic() -> None:
    (remark,) = judge(5_000, Work(40_000_000, None), outputs=30_000_000)
    assert tells(remark, "5.0 µs", "40.0 MB", "8.00 TB/s", "memory", "3.00 TB/s", "cache", "50 MB", "all")


def test_what_may_still_lie_in_the_cache_needs_no_time() -> None:
    (remark,) = judge(60_000, Work(220_000_000, None), outputs=100_000_000)
    assert tells(remark, "cache", "50 MB")


def test_inputs_have_left_the_cache() -> None:
    """It was cleared before the call: only what is written can lie there, and what little survives of the inputs."""
    work = Work(40_000_000, None)
    assert judge(12_000, work) != ()
    with pytest.raises(SolutionFailed, match=r"10\.00 TB/s"):
        judge(4_000, work, lambda: 39_960_000.0, outputs=40_000)


def test_more_bytes_than_memory_can_move_is_cheating() -> None:
    with pytest.raises(SolutionFailed, match=r"30\.00 TB/s; .* 3\.00 TB/s") as caught:
        judge(0.1 * MS, Work(3_000_000_000, None), lambda: 2e9, 1_000_000_000, baseline_ns=1.2 * MS)
    (evidence,) = caught.value.failure.evidence
    assert evidence.check == "roofline"
    assert evidence.numbers["certain_bytes"] == 3_000_000_000


def test_inputs_that_nobody_reads_are_no_accusation() -> None:
    """A pooling whose stride is wider than its window."""
    (remark,) = judge(0.25 * MS, Work(3_000_000_000, None), lambda: 0.4e9, 200_000_000)
    assert tells(remark, "only", "600.0 MB", "must move")


def test_parameters_that_a_call_need_not_read_are_no_accusation() -> None:
    """An embedding: a table of 3 GB, of which the indices ask for 40 MB."""
    (remark,) = judge(0.05 * MS, Work(3_050_000_000, None), lambda: 10e6, 40_000_000, baseline_ns=2 * MS)
    assert tells(remark, "only", "50.0 MB", "must move")


def test_a_floor_that_the_baseline_beats_is_none() -> None:
    (remark,) = judge(0.1 * MS, Work(3_000_000_000, None), never, 0, baseline_ns=0.5 * MS)
    assert tells(remark, "baseline", "500.0 µs", "either")


def test_a_little_above_a_measured_rate_is_a_remark_and_above_theory_an_accusation() -> None:
    work = Work(3_000_000_000, None)
    (remark,) = judge(0.96 * MS, work)
    assert "as measured" in remark
    theory = replace(H100, cache_bytes=0, memory_peak_bytes_per_s=3.0e12)
    assert judge(1.0 * MS, work, device=theory) == ()
    with pytest.raises(SolutionFailed, match=r"3\.12 TB/s"):
        judge(0.96 * MS, work, lambda: 3e9, device=theory)


def setting_of(model: Any, *inputs: torch.Tensor) -> Any:
    reference = SimpleNamespace(make_inputs=lambda seed: list(inputs))
    return SimpleNamespace(reference=reference, model=model, seed=lambda *purpose: 1)


def test_every_element_of_a_sum_matters() -> None:
    assert inputs_that_matter(setting_of(lambda x: x.sum(0), torch.rand(8, 16))) == 512


def test_elements_between_the_windows_dont_matter() -> None:
    """Every eighth row is read; the second input isn't."""
    inputs = torch.rand(800, 4), torch.rand(800, 4)
    before = inputs[0].clone()
    assert inputs_that_matter(setting_of(lambda x, unread: x[::8] * 2, *inputs)) < 0.5 * 12_800
    assert torch.equal(inputs[0], before)


def test_an_index_is_never_moved_and_counts_in_full() -> None:
    """On a GPU an index out of range would be a fault that ends the referee's context."""

    class Lookup(torch.nn.Module):
        def forward(self, index: torch.Tensor, flag: torch.Tensor) -> torch.Tensor:
            assert int(index.max()) == 4
            assert not bool(flag.any())
            return self.table(index)  # type: ignore[no-any-return]

        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(5, 2)

    inputs = torch.tensor([4, 4, 4]), torch.zeros(6, dtype=torch.bool)
    assert inputs_that_matter(setting_of(Lookup(), *inputs)) == 3 * 8 + 6


def test_a_reference_that_differs_from_itself_tells_nothing() -> None:
    assert inputs_that_matter(setting_of(lambda x: x + torch.rand_like(x), torch.rand(8))) == 0
    assert inputs_that_matter(setting_of(lambda x: x * float("nan"), torch.rand(8))) == 0


def test_an_expanded_input_is_read_once() -> None:
    assert inputs_that_matter(setting_of(lambda x: x.sum(), torch.rand(4).expand(100, 4))) == 16
