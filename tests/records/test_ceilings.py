"""Ceilings as they are kept between runs."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from harness.records.ceilings import Ceilings, read_ceilings, write_ceilings

H100 = Ceilings("NVIDIA H100", "580.65", 50 * 2**20, 3.03e12, 3.09e12, 3.29e12, 5e12, 51e12, 350e12, 777e12)


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


def test_the_best_rates_bound_a_solution() -> None:
    assert H100.memory_bytes_per_s == 3.29e12
    assert H100.operations_per_s == 777e12


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_rates_are_positive(rate: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        dataclasses.replace(H100, read_bytes_per_s=rate)
