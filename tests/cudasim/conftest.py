"""The toolkit is built once per machine; the scenarios of scenarios.py run once per session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cudasim import SimUnavailable, Toolkit, ensure_toolkit

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def toolkit() -> Toolkit:
    cache = Path(os.environ.get("HARNESS_CACHE") or Path.home() / ".cache/harness")
    try:
        return ensure_toolkit(cache, progress=print)
    except SimUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def outcomes(toolkit: Toolkit) -> dict[str, dict[str, Any]]:
    """By scenario: value, error, findings and launches."""
    script = Path(__file__).with_name("scenarios.py")
    run = subprocess.run(
        [sys.executable, str(script), str(toolkit.root)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    by_name: dict[str, dict[str, Any]] = json.loads(run.stdout)
    return by_name


@pytest.fixture(scope="session")
def kernel_lines() -> list[str]:
    """kernels.cu as load_inline writes it, with three includes before it."""
    return [""] * 3 + Path(__file__).with_name("kernels.cu").read_text().splitlines()
