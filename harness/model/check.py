"""The finding of a check: a comparison of outputs with the oracle, or evidence of a deception, each with its
numbers."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import field
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, FiniteFloat, SerializerFunctionWrapHandler, model_serializer
from pydantic.dataclasses import dataclass

from harness.model.record import RECORD, NotNegative

OracleKind = Literal["float64", "float32"]
Scope = Literal["complete", "row", "sampled_blocks", "timed_turn"]


@dataclass(frozen=True, config=RECORD)
class Tolerance:
    """A value is accepted if |got − want| ≤ atol + rtol·|want| + of_scale·rms; NaN and infinities must coincide.

    `rms` is the root mean square of the finite right values of the same item of dimension 0. All zero means exact
    equality.
    """

    atol: NotNegative
    rtol: NotNegative
    of_scale: NotNegative = 0.0

    @property
    def is_exact(self) -> bool:
        return self.atol == self.rtol == self.of_scale == 0

    def looser(self, other: Tolerance) -> Tolerance:
        """Return a tolerance that allows what either of the two allows."""
        parts = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return Tolerance(*(max(pair) for pair in parts))

    def least_growth(self, other: Tolerance) -> float:
        """The factor by which `other` allows every value to err more, at least."""
        parts = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return min((new / old for old, new in parts if old), default=1.0)

    def times(self, factor: float) -> Tolerance:
        """Return a tolerance that allows errors larger by this factor."""
        return Tolerance(*(factor * part for part in dataclasses.astuple(self)))

    def growth(self, other: Tolerance) -> float:
        """The largest factor by which `other` allows a value to err more; infinity where it can't be told."""
        parts = zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
        return max((new / old if old else math.inf for old, new in parts if new), default=1.0)

    def __str__(self) -> str:
        """Say the tolerance as '0.0001 + 0.0001·|want| + 0.0001·rms' or 'exact'."""
        if self.is_exact:
            return "exact"
        parts = [f"{self.atol:.3g}", f"{self.rtol:.3g}·|want|"]
        return " + ".join([*parts, f"{self.of_scale:.3g}·rms"] if self.of_scale else parts)


@dataclass(frozen=True, config=RECORD)
class DerivedTolerance:
    """The tolerance of an output of a case where problem.yaml names none; see docs/tolerance.md.

    `share` and `least`: the tolerance, and the least that any output is allowed, in local scales (|want| plus the root
    mean square of the values around it). `errors`: by name of an honest reformulation of the reference, its largest
    error against the float64 oracle, in local scales.
    """

    case: str
    output: int
    share: float
    least: float
    errors: dict[str, float]


@dataclass(frozen=True, config=RECORD)
class Mismatch:
    """One element outside the tolerance. `part`: of a complex number, the part that is given, which differs most."""

    index: tuple[int, ...]
    got: float
    want: float
    part: Literal["real", "imaginary"] | None = None

    def values(self, digits: int = 9) -> str:
        """Say both values: 'got 2.5, want -1', and of complex ones 'got 2.5, want -1 (imaginary part)'."""
        which = f" ({self.part} part)" if self.part else ""
        return f"got {self.got:.{digits}g}, want {self.want:.{digits}g}{which}"

    @model_serializer(mode="wrap")
    def _without_absent_part(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write a real number as records did before complex ones had a part."""
        data: dict[str, Any] = write(self)
        if self.part is None:
            del data["part"]
        return data


@dataclass(frozen=True, config=RECORD)
class OutputComparison:
    """One output tensor against the oracle's.

    `worst` is the largest |got − want| / (atol + rtol·|want|): above 1 is a mismatch. It is infinite where NaN
    or infinities don't coincide, and where an exact comparison differs. `compared` may be below `elements`:
    in sampled blocks only what these blocks wrote is compared, and with changed inputs that failed only what the
    reference itself gets right.
    """

    shape: tuple[int, ...]
    dtype: str
    tolerance: Tolerance
    elements: int
    compared: int
    mismatches: int
    max_abs_error: float
    max_rel_error: float
    worst: float
    first_mismatches: tuple[Mismatch, ...] = ()

    @property
    def passed(self) -> bool:
        return self.mismatches == 0

    @property
    def relative_error(self) -> float | None:
        """The largest relative error; None for integers, and where only right values of 0 are missed."""
        is_inexact = self.dtype.startswith(("float", "bfloat", "complex"))
        return self.max_rel_error if is_inexact and (self.max_rel_error or not self.max_abs_error) else None


@dataclass(frozen=True, config=RECORD)
class Check:
    """The judgement of one call of the solution. `seed` is what its inputs were drawn with; it follows from the master
    seed.

    `variant` says how they were changed then ("negative"); None where they are get_inputs()'s own.
    """

    case: str
    seed: int
    scope: Scope
    oracle: OracleKind
    outputs: tuple[OutputComparison, ...]
    variant: str | None = None

    @property
    def passed(self) -> bool:
        return all(output.passed for output in self.outputs)

    @property
    def is_exact(self) -> bool:
        return all(output.tolerance.is_exact for output in self.outputs)

    @property
    def worst(self) -> float:
        return max((output.worst for output in self.outputs), default=0.0)


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
    observed: Annotated[str, Field(min_length=1)]
    """One sentence that holds the numbers."""
    numbers: dict[str, FiniteFloat] = field(default_factory=dict)
