"""Broken twins of kernels and what benchmarks/cascade.py counts of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.run.test_cascade import SOLUTION
from tests.scripts import script

broken_kernels, cascade = script("broken_kernels"), script("cascade")
GPU = {
    "a": {"verdict": "passed", "judged_at": "2026-11-24T06:00:00+00:00"},
    "b": {"verdict": "wrong_values", "judged_at": "2026-11-24T06:00:04+00:00"},
    "c": {"verdict": "passed", "judged_at": "2026-11-24T06:00:06+00:00"},
    "next sitting": {"verdict": "passed", "judged_at": "2026-11-24T07:00:00+00:00"},
}


def test_a_twin_differs_in_one_place_and_is_always_the_same() -> None:
    twins = [broken_kernels.broken(SOLUTION, f"kernel {number}") for number in range(60)]
    assert all(twin.source != SOLUTION for twin in twins)
    assert len({twin.kind for twin in twins}) >= 8
    assert broken_kernels.broken(SOLUTION, "kernel 7") == twins[7]


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("missing last term", "for (int k = 0; k < n; ++k)", "for (int k = 0; k < n - 1; ++k)"),
        ("missing first term", "for (int k = 0; k < n; ++k)", "for (int k = 1; k < n; ++k)"),
        ("wrong constant", "y = x * 0.5f", "y = x * 0.75f"),
        ("wrong constant", "y = 0.0f", "y = 1.0f"),
        ("max for min", "y = fmaxf(x, z)", "y = fminf(x, z)"),
        ("sign of a term", "y = x - mean", "y = x + mean"),
        ("no accumulation", "sum += x", "sum = x"),
        ("bound one short", "if (i < n) y = x", "if (i < n - 1) y = x"),
    ],
)
def test_a_mistake_is_made_in_a_kernel(kind: str, before: str, after: str) -> None:
    source = "__global__ void f() {{\n    {0};\n}}\n"
    changed = broken_kernels.KINDS[kind](source.format(before), broken_kernels.random.Random(1))
    assert changed == source.format(after)
    assert broken_kernels.KINDS[kind](before, broken_kernels.random.Random(1)) is None  # host code is left alone


def row(mistake: str | None, stage: str) -> dict[str, Any]:
    return {"mistake": mistake, "stage": stage, "verdict": None, "remark": None, "seconds": 1.0}


def test_what_is_saved_is_the_share_of_what_compiles_and_never_reaches_a_gpu() -> None:
    found = {
        "right": row(None, "device"),
        "accused": row(None, "simulator"),
        "refused": row("unknown name", "build"),
        "stopped": row("wrong shape", "simulator"),
        "went on": row("wrong shape", "device"),
        "wild": row(cascade.AUTHORS, "simulator"),
    }
    summary = cascade.summary(found, GPU)
    assert summary["right kernels rejected"] == ["accused"]
    assert summary["broken, by stage"] == {"build": 1, "simulator": 1, "device": 1}
    assert summary["broken, by mistake"]["wrong shape"] == {"simulator": 1, "device": 1}
    assert summary["GPU seconds of broken kernels"] == {
        "by whoever compiles": 4.0,
        "after the simulator": 2.0,
        "saved": 0.5,
    }
    assert summary["GPU seconds of a kernel, median"] == {"passed": 4.0, "wrong_values": 2.0}


def test_a_sample_is_spread_over_all_and_always_the_same() -> None:
    names = [f"{number:03d}" for number in range(100)]
    assert sorted(cascade.sample(names, 4)) == ["000", "025", "050", "075"]
    assert cascade.sample(names, 4) == cascade.sample(list(reversed(names)), 4)
    assert len(cascade.sample(names, 500)) == 100
