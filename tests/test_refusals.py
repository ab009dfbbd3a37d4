"""Our pools refuse what torch refuses: empty images, windows that only fit because a number wrapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.environment import BackendName
from tests.evaluations import UNTIMED, evaluate_all
from tests.files import laid
from tests.machine import ROOT

REFUSED = {
    "maxpool2d": (
        "((1, 1, 0, 4), (4, 1, 2, 1)), ((1, 1, 4, 0), (4, 1, 2, 1)), ((1, 1, 8, 8), (5, 1, 2, 2**62)), "
        "((1, 1, 8, 8), (2**62, 1, 0, 1))"
    ),
    "avgpool2d": "((1, 1, 0, 4), (2, 1, 1)), ((1, 1, 4, 0), (2, 1, 1)), ((1, 1, 8, 8), (9, 1, 0))",
}
WORKS = {"maxpool2d": "max_pool2d", "avgpool2d": "avg_pool2d"}
TRIES = """


class ModelNew(ModelNew):
    def forward(self, x):
        for shape, settings in (REFUSED):
            try:
                WORK(x.new_zeros(shape), *settings)
            except RuntimeError:
                continue
            raise ValueError(f"{shape} with {settings} went through")
        return super().forward(x)
"""
SIM = [("maxpool2d", "sliding_rows"), ("avgpool2d", "column_sums")]
CUDA = [
    *(("maxpool2d", name) for name in ("plain", "shared_tile", "sliding_rows", "one_copy")),
    *(("avgpool2d", name) for name in ("column_sums", "wide_rows", "bulk_tile")),
]


@pytest.mark.parametrize(
    ("backend", "problem", "solution"),
    [
        *(pytest.param("sim", *names, marks=pytest.mark.sim) for names in SIM),
        *(pytest.param("cuda", *names, marks=pytest.mark.gpu) for names in CUDA),
    ],
)
def test_pool_refuses_what_torch_refuses(backend: BackendName, problem: str, solution: str, tmp_path: Path) -> None:
    small = (ROOT / "problems" / problem / "problem.py").read_text()
    for name, value in (("batch_size", 1), ("channels", 2), ("height", 24), ("width", 36)):
        before = next(line for line in small.splitlines() if line.startswith(f"{name} = "))
        small = small.replace(before, f"{name} = {value}")
    own = f"solutions/{problem}/{solution}/solution.py"
    tries = TRIES.replace("REFUSED", REFUSED[problem]).replace("WORK", f"extension.{WORKS[problem]}")
    laid(tmp_path, {f"problems/{problem}/problem.py": small, own: (ROOT / own).read_text() + tries})
    found = evaluate_all(tmp_path, problem, tmp_path / "results", backend, config=UNTIMED)[solution]
    assert found.verdict.passed, found.failure
