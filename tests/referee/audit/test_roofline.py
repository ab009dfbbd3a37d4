"""Speeds against an H100's ceilings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from harness.records.ceilings import Ceilings
from harness.records.evaluation import Work
from harness.referee.audit.roofline import require_possible, share_of_inputs
from harness.referee.outcome import SolutionFailed

H100 = Ceilings("NVIDIA H100", "580.65", 50_000_000, 3.0e12, 3.0e12, 3.0e12, 5e12, 51e12, 350e12, 800e12)
MS = 1e6


def never() -> float:
    raise AssertionError("asked without need")


@pytest.mark.parametrize(
    ("median_ns", "work"),
    [
        (1.0 * MS, Work(3_000_000_000, None)),  # exactly the device's rate
        (0.96 * MS, Work(3_000_000_000, None)),
        (1.0 * MS, Work(1_000_000, 800_000_000_000)),
    ],
)
def test_a_possible_speed_needs_no_word(median_ns: float, work: Work) -> None:
    assert require_possible(median_ns, work, H100, never) == ()


def test_data_that_fits_the_cache_is_a_remark_with_the_arithmetic() -> None:
    (remark,) = require_possible(5_000, Work(40_000_000, None), H100, never)
    assert remark == (
        "5.0 µs for 40.0 MB are 8.00 TB/s; the device's memory moves 3.00 TB/s; its cache of 50 MB holds them all"
    )


def test_what_may_still_lie_in_the_cache_needs_no_time() -> None:
    (remark,) = require_possible(60_000, Work(220_000_000, None), H100, never)
    assert remark.endswith("its cache may hold 50 MB of what was written")


def test_more_bytes_than_memory_can_move_is_cheating() -> None:
    with pytest.raises(SolutionFailed, match=r"30\.00 TB/s; the device's memory moves 3\.00 TB/s") as caught:
        require_possible(0.1 * MS, Work(3_000_000_000, None), H100, lambda: 1.0)
    (evidence,) = caught.value.failure.evidence
    assert evidence.check == "roofline"
    assert evidence.numbers["least_bytes"] == 3_000_000_000


def test_inputs_that_nobody_reads_are_no_accusation() -> None:
    """A pooling whose stride is wider than its window."""
    (remark,) = require_possible(0.25 * MS, Work(3_000_000_000, None), H100, lambda: 0.2)
    assert remark.endswith("but the output depends on about 20% of the inputs only")


def test_fewer_operations_than_counted_are_possible() -> None:
    (remark,) = require_possible(0.5 * MS, Work(1_000_000, 800_000_000_000), H100, never)
    assert remark.endswith("algorithms with fewer operations exist (Winograd, FFT)")


def test_more_operations_than_any_algorithm_saves_is_cheating() -> None:
    with pytest.raises(SolutionFailed, match=r"8000 TFLOP/s; the device's fastest matrix product does 800") as caught:
        require_possible(0.1 * MS, Work(1_000_000, 800_000_000_000), H100, never)
    assert caught.value.failure.evidence[0].check == "roofline"


def setting_of(model: torch.nn.Module, *inputs: torch.Tensor) -> Any:
    reference = SimpleNamespace(make_inputs=lambda seed: list(inputs))
    return SimpleNamespace(reference=reference, model=model, seed=lambda *purpose: 1)


def test_every_element_of_a_sum_matters() -> None:
    class Sum(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum(0)

    assert share_of_inputs(setting_of(Sum(), torch.rand(8, 16))) == 1.0


def test_elements_between_the_windows_dont_matter() -> None:
    """Every eighth row is read; the second input isn't."""

    class Strided(torch.nn.Module):
        def forward(self, x: torch.Tensor, unread: torch.Tensor) -> torch.Tensor:
            return x[::8] * 2

    inputs = torch.rand(800, 4), torch.rand(800, 4)
    assert share_of_inputs(setting_of(Strided(), *inputs)) < 0.35
    assert torch.equal(inputs[0], inputs[0].clone())
