"""Thirty kernels get the same verdict, whichever door they come through."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.corpus import read_families
from tests.integrations.doors import CONFIG, DOORS, FAULTS, PROBLEM, Texts, Verdicts

pytestmark = pytest.mark.sim

GOLDEN = (
    *("honest", "wrong_values", "missing_semicolon", "syntax_error", "wrong_shape", "segfault"),
    *("chatty", "prints_json", "constexpr_in_kernel", "partial_write", "nan_values", "transposed", "flattened"),
    *("extra_dimension", "empty_output", "wrong_dtype", "half_output", "integer_output", "returns_tuple"),
    *("returns_none", "returns_number", "returns_subclass", "no_model_new", "missing_package", "forgets_super"),
    *("no_forward", "raises_in_forward", "unknown_function", "device_assert", "writes_out_of_bounds"),
)
"""Solutions of tests/faults. The first two alone, unless $HARNESS_CORPUS is 'all'."""
CHOSEN = GOLDEN if os.environ.get("HARNESS_CORPUS") == "all" else GOLDEN[:2]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_leads_to_the_same_verdict(door: Callable[[Texts, Path], Verdicts], tmp_path: Path) -> None:
    known = {one.solution: one.caught_by for one in read_families(FAULTS, CONFIG)}
    texts = {name: (FAULTS / "solutions" / PROBLEM / name / "solution.py").read_text() for name in CHOSEN}
    found = door(texts, tmp_path)
    assert {name: (verdict,) for name, verdict in found.items()} == {name: known[name] for name in CHOSEN}


def test_there_are_thirty() -> None:
    assert len(set(GOLDEN)) == 30
