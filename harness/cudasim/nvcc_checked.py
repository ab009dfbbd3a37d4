"""The stand-in for nvcc that compiles for the checked build."""

from __future__ import annotations

from pathlib import Path

from harness.cudasim import nvcc


def main(arguments: list[str], toolkit: Path) -> int:
    """As nvcc.main."""
    return nvcc.main(arguments, toolkit, is_checked=True)
