"""Each kernel of the conformance table on the simulator, and on a GPU where there is one, against the same values."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.cudasim import SimUnavailable, ensure_toolkit
from tests.conformance.case import Case
from tests.conformance.cases import CASES
from tests.conformance.table import PAGE, with_tables
from tests.machine import ROOT

HERE = Path(__file__).parent
KERNELS = HERE / "kernels"
Outcomes = Mapping[str, Mapping[str, Any]]

BACKENDS = [
    pytest.param("sim", marks=pytest.mark.sim),
    pytest.param("checked", marks=pytest.mark.sim),
    pytest.param("cuda", marks=pytest.mark.gpu),
]
"""`checked`: the simulator with `--sanitize`, which finds nothing in any of these but numbers that wrap on purpose and
streams of their own."""
MEANT = ("index-overflow", "signed-overflow", "stream-order")


@pytest.fixture(scope="session")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """By backend: what every case gave, from one process each."""
    ran: dict[str, Outcomes | str] = {}

    def of(backend: str) -> Outcomes:
        if backend not in ran:
            ran[backend] = _run(backend, tmp_path_factory.mktemp(backend) / "outcomes.pt")
        outcome = ran[backend]
        if isinstance(outcome, str):
            pytest.fail(outcome)
        return outcome

    return of


def _run(backend: str, output: Path) -> Outcomes | str:
    """The error, where the kernels don't compile or the process breaks."""
    command = [sys.executable, str(HERE / "run.py"), backend, str(KERNELS), str(output)]
    if backend != "cuda":
        cache = Path(os.environ.get("HARNESS_CACHE") or Path.home() / ".cache/harness")
        try:
            command.append(str(ensure_toolkit(cache, progress=print, is_checked=backend == "checked").root))
        except SimUnavailable as reason:
            pytest.skip(str(reason))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    if run.returncode:
        return f"{backend}: {run.stderr[-4000:]}"
    outcomes: Outcomes = torch.load(output)
    return outcomes


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernel_agrees(outcomes: Any, backend: str, case: Case) -> None:
    if backend == "checked" and os.environ.get("HARNESS_CORPUS") != "all":
        pytest.skip("the checked build of them all takes two minutes: HARNESS_CORPUS=all")
    if backend == "cuda" and case.needs is not None and torch.cuda.get_device_capability() != case.needs:
        pytest.skip(f"expects the numbers of compute capability {case.needs}")
    outcome = outcomes(backend)[case.name]
    assert outcome["error"] is None
    assert [finding for finding in outcome.get("findings", []) if not finding.startswith(MEANT)] == []
    for got, wanted in zip(outcome["outputs"], case.wanted(), strict=True):
        assert case.agrees(got, wanted), _difference(got, wanted, case)


def _difference(got: torch.Tensor, wanted: torch.Tensor, case: Case) -> str:
    unequal = ~((got == wanted) | (got.double().isnan() & wanted.double().isnan()))
    places = unequal.view(-1).nonzero().view(-1)[:8].tolist()
    shown = [f"[{i}] {got.view(-1)[i].item()!r}, not {wanted.view(-1)[i].item()!r}" for i in places]
    return f"{int(unequal.sum())} of {got.numel()} differ ({case.tolerance.name}): " + "; ".join(shown)


@pytest.mark.sim
def test_every_kernel_is_in_the_table(outcomes: Any) -> None:
    assert sorted(outcomes("sim")["*"]["names"]) == sorted(case.name for case in CASES)


def test_table_is_large_enough_and_its_rows_are_told_apart() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


def test_theme_names_the_file_of_its_cases() -> None:
    for case in CASES:
        text = (KERNELS / f"{case.theme}.cu").read_text()
        assert re.search(rf"_CASE\({case.name}\b|\bCASE\({case.name}\)", text), f"{case.name} is not in {case.theme}.cu"


def test_documentation_has_the_tables_as_they_are() -> None:
    page = PAGE.read_text()
    assert with_tables(page) == page, "python -m tests.conformance.table"
