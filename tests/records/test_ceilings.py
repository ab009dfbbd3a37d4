"""Ceilings as they are kept between runs."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

from harness.codec import encode
from harness.records.ceilings import read_ceilings, write_ceilings
from tests.examples import ceilings

H100 = ceilings()

OF_VERSION_0_2 = {
    "device": "NVIDIA H100",
    "driver": "580.65",
    "cache_bytes": 52428800,
    "copy_bytes_per_s": 3.03e12,
    "read_bytes_per_s": 3.09e12,
    "write_bytes_per_s": 3.29e12,
    "cache_copy_bytes_per_s": 5e12,
    "float32_operations_per_s": 51e12,
    "tf32_operations_per_s": 350e12,
    "bfloat16_operations_per_s": 777e12,
}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ceilings" / "h100.json"
    write_ceilings(path, H100)
    assert read_ceilings(path) == H100
    assert [file.name for file in path.parent.iterdir()] == ["h100.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"device": "NVIDIA H100"}', '{"copy_bytes_per_s": "fast"}'])
def test_anything_else_is_as_good_as_nothing(text: str, tmp_path: Path) -> None:
    (tmp_path / "h100.json").write_text(text)
    assert read_ceilings(tmp_path / "h100.json") is None
    assert read_ceilings(tmp_path / "missing.json") is None


def test_ceilings_of_an_older_harness_are_measured_again(tmp_path: Path) -> None:
    (tmp_path / "h100.json").write_text(json.dumps(OF_VERSION_0_2))
    assert read_ceilings(tmp_path / "h100.json") is None


def test_the_best_rates_bound_a_solution_and_eight_bits_are_no_bound() -> None:
    assert H100.memory_bytes_per_s == 3.29e12
    assert (H100.fastest, H100.operations_per_s) == ("bfloat16", 777e12)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("field", ["read_bytes_per_s", "memory_peak_bytes_per_s", "vector_operations_per_s"])
def test_rates_are_positive(field: str, rate: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        dataclasses.replace(H100, **{field: rate})
    with pytest.raises(ValueError, match="positive"):
        dataclasses.replace(H100, matrix_operations_per_s={"tf32": rate})


@pytest.mark.parametrize("rates", [{}, {"int8": 1e15}])
def test_some_product_that_a_problem_may_be_held_to_was_measured(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="16 bits"):
        dataclasses.replace(H100, matrix_operations_per_s=rates)


def test_what_a_device_does_not_tell_is_none() -> None:
    bare = dataclasses.replace(H100, memory_peak_bytes_per_s=None, vector_operations_per_s=None)
    assert encode(bare)["memory_peak_bytes_per_s"] is None
