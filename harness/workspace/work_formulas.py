"""What problem.yaml says that a call can't do without, where counting tells it wrong."""

from __future__ import annotations

import math
from typing import Literal

from pydantic.dataclasses import dataclass

from harness.model.record import SETTINGS
from harness.workspace.formula import FormulaError, numeric_constants, value_of

Amount = Literal["bytes", "operations"]

_LEAST: dict[Amount, int] = {"bytes": 1, "operations": 0}
_BEYOND = 2**63


@dataclass(frozen=True, config=SETTINGS)
class WorkFormulas:
    """A number each, or a formula over the constants of problem.py; None leaves it to the count."""

    bytes: float | str | None = None
    """That a call must read and write: + - * / // % **, min, max, ceil and log2 over the constants of problem.py, for
    cases without init_inputs of their own. Default: each tensor once."""
    operations: float | str | None = None
    """Multiplications and additions that a call must do, as bytes; 0 for none. Default: those that torch counts."""

    def amount(self, what: Amount, source: str) -> int | None:
        """By the constants of `source`, rounded up; None where it is left to the count. Raises: FormulaError."""
        formula = self.bytes if what == "bytes" else self.operations
        if formula is None:
            return None
        value = value_of(formula, numeric_constants(source)) if isinstance(formula, str) else formula
        if not _LEAST[what] <= value < _BEYOND:  # nor is NaN
            raise FormulaError(f"gives {value:g}; a number from {_LEAST[what]} to 2^63 belongs here")
        return math.ceil(value)
