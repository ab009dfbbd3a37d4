"""Exploits that nothing comes of do what they say where they aren't kept from it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.machine import ROOT

SOLUTIONS = Path(__file__).parent / "solutions" / "double"
COMPARE = """
import runpy, sys, torch
runpy.run_path(sys.argv[1])
from harness.model.check import Tolerance
from harness.referee.answers.comparison import Comparison
compared = Comparison((4,), torch.float32, Tolerance(1e-4, 1e-4))
compared.add(torch.zeros(4), torch.ones(4))
print(compared.result().mismatches)
"""


def test_a_poisoned_comparison_would_accept_whatever_it_is_given() -> None:
    assert _compare(SOLUTIONS / "poisoned_harness_modules" / "solution.py") == "0"
    assert _compare(SOLUTIONS / "returns_empty" / "solution.py") == "4"


def _compare(first: Path) -> str:
    """How many of four wrong values are found in a process in which this solution has run before."""
    command = [sys.executable, "-c", COMPARE, str(first)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
