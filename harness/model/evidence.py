"""What a referee saw of an attempt to deceive it: by which check, with which numbers."""

from __future__ import annotations

import math
from dataclasses import field
from typing import Literal, get_args

from pydantic.dataclasses import dataclass

from harness.model.record import RECORD

CheckName = Literal[
    "private_socket",
    "claimed_times",
    "wall_clock",
    "tail",
    "trace",
    "phases",
    "idle_gpu",
    "roofline",
    "patched_functions",
    "harness_files",
]
"""Checks that can end in the verdict `cheating`; `harness explain` says what each observes."""

CHECK_NAMES: tuple[CheckName, ...] = get_args(CheckName)


@dataclass(frozen=True, config=RECORD)
class Evidence:
    """One observation. `numbers` have their units in their names, e.g. {"wall_ns": 5.1e6, "claimed_ns": 1.2e5}."""

    check: CheckName
    observed: str
    """One sentence that holds the numbers."""
    numbers: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.observed:
            raise ValueError("evidence says what was observed")
        if not all(math.isfinite(value) for value in self.numbers.values()):
            raise ValueError("evidence has finite numbers")
