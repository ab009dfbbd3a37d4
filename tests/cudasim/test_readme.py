"""The example of the simulator's page runs without the rest of harness."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cudasim import Toolkit

ROOT = Path(__file__).parents[2]
ROOMS = "import sys; print(sorted({name.split('.')[1] for name in sys.modules if name.startswith('harness.')}))"


@pytest.mark.sim
@pytest.mark.heavy
def test_the_example_lists_the_fault_that_the_page_shows(toolkit: Toolkit, tmp_path: Path) -> None:
    page = (ROOT / "harness/cudasim/README.md").read_text()
    example, shown = re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)
    example = example.replace('Path("cache")', f"Path({str(toolkit.root.parent)!r})")
    run = subprocess.run(
        [sys.executable, "-c", example + ROOMS],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TORCH_EXTENSIONS_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith(f"{shown}['cudasim', 'face']\n")
