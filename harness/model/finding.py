"""One fact about the machine, as `harness doctor` reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class MachineFinding:
    """`remedy` says what to do where the state isn't good."""

    name: str
    state: Literal["good", "missing", "warning"]
    detail: str
    remedy: str | None = None

    @property
    def is_good(self) -> bool:
        return self.state == "good"
