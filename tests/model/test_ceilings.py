"""Ceilings as they are kept between runs."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
from pydantic import ValidationError

from harness.model.ceilings import Ceiling, read_ceilings, write_ceilings
from harness.model.record import as_json
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
    assert ceilings(memory_peak_bytes_per_s=None).memory == Ceiling(3.29e12, "measured")
    assert H100.memory == Ceiling(3.352e12, "theory")
    assert H100.fastest == "bfloat16"
    assert H100.arithmetic("float32") == Ceiling(60e12, "measured")
    assert H100.arithmetic("float16") is None


@pytest.mark.parametrize(
    ("capability", "multiprocessors", "mhz", "arithmetic", "stated"),
    [
        ("8.0", 108, 1410, "float32", 19.5e12),
        ("8.0", 108, 1410, "tf32", 156e12),
        ("8.0", 108, 1410, "bfloat16", 312e12),
        ("8.6", 84, 1740, "float32", 37.4e12),
        ("8.6", 84, 1740, "tf32", 74.8e12),
        ("8.6", 84, 1740, "float16", 149.7e12),
        ("8.9", 142, 2520, "float32", 91.6e12),
        ("8.9", 142, 2520, "tf32", 183e12),
        ("8.9", 142, 2520, "float8_e4m3", 733e12),
        ("9.0", 132, 1980, "float32", 66.9e12),
        ("9.0", 132, 1830, "tf32", 494.7e12),
        ("9.0", 132, 1830, "float16", 989.4e12),
        ("9.0", 132, 1830, "float8_e4m3", 1978.9e12),
        ("10.0", 148, 1850, "bfloat16", 2250e12),
        ("12.0", 188, 2617, "float32", 126e12),
        ("12.0", 188, 2617, "float16", 503.8e12),
    ],
)
def test_theory_gives_what_nvidia_states_of_a_board(
    capability: str, multiprocessors: int, mhz: int, arithmetic: str, stated: float
) -> None:
    assert of_board(capability, multiprocessors, mhz)[arithmetic] == pytest.approx(stated, rel=0.02)


def of_board(capability: str | None, multiprocessors: int, mhz: int | None) -> dict[str, float]:
    board = {"compute_capability": capability, "multiprocessors": multiprocessors, "sm_mhz": mhz}
    return dataclasses.replace(H100, **board).theory


def test_a_capability_that_nobody_described_has_no_theory() -> None:
    assert of_board("7.5", 68, 1545) == {}
    assert of_board(None, 132, 1980) == {}
    assert of_board("9.0", 132, None) == {}


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("field", ["read_bytes_per_s", "memory_peak_bytes_per_s", "vector_operations_per_s"])
def test_rates_are_positive(field: str, rate: float) -> None:
    with pytest.raises(ValidationError):
        dataclasses.replace(H100, **{field: rate})
    with pytest.raises(ValidationError):
        dataclasses.replace(H100, matrix_operations_per_s={"tf32": rate})


@pytest.mark.parametrize("rates", [{}, {"int8": 1e15}])
def test_some_product_that_a_problem_may_be_held_to_was_measured(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="16 bits"):
        dataclasses.replace(H100, matrix_operations_per_s=rates)


def test_what_a_device_does_not_tell_is_none() -> None:
    bare = dataclasses.replace(H100, memory_peak_bytes_per_s=None, vector_operations_per_s=None)
    assert as_json(bare)["memory_peak_bytes_per_s"] is None
