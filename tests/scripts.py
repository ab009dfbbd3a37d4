"""The scripts under benchmarks/, for tests of what they conclude."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.machine import ROOT

sys.path.append(str(ROOT / "benchmarks"))


def script(name: str) -> Any:
    """The module that `name`.py is, the same one that other scripts import."""
    return importlib.import_module(name)
