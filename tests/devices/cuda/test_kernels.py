"""The compiled kernels beside their sources."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.machine import ROOT

KERNELS = ROOT / "harness" / "devices" / "cuda" / "kernels"


@pytest.mark.parametrize("source", sorted(KERNELS.glob("*.cu")), ids=lambda path: path.stem)
def test_the_ptx_is_made_of_this_source(source: Path) -> None:
    """Its first line names the source's hash, and how it was made."""
    first = source.with_suffix(".ptx").read_text().splitlines()[0]
    assert first.endswith(f"of sha256 {hashlib.sha256(source.read_bytes()).hexdigest()}"), first
