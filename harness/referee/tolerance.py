"""The tolerance of a case's outputs, derived from what the reference itself does on this device.

Where a problem names no tolerance, a right kernel may err as the reference errs when only the way of computing changes.
Errors are in units of the *local scale*: |want| plus the root mean square of the values around it, since a sum whose
terms cancel is as uncertain as its terms (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
4.2). docs/tolerance.md explains it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.model.check import Tolerance
from harness.referee.answers.choices import Choice
from harness.referee.answers.comparison import comparison_of, parts_of, within
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.kernel_kinds import NOISY
from harness.referee.answers.oracle import Oracle, copied
from harness.referee.answers.output_spec import dtype_name
from harness.workspace.problem import LEAST_TOLERANCE

MARGIN = 2.0
"""A kernel may err by twice the largest error that was measured. Over two seeds of KernelBench's 250 problems on an
H200, the largest error of a reformulation changed by less than a factor of 1.25 wherever it was above the least."""
TOLD_BY = 4.0
"""A wrong answer must lie outside the tolerance by this factor."""
_ELEMENTS_OF_AN_ITEM = 256
"""Items of dimension 0 with so many elements have a scale of their own; the root mean square of fewer is chance."""
_FAINT = 2.0**-10
"""Items far smaller than the rest, such as rows of zeros, are held to this part of the whole output's scale."""
_FLUSHED = torch.finfo(torch.float32).tiny / LEAST_TOLERANCE["float32"]
"""The least local scale: the least tolerance then forgives kernels whose subnormal numbers are zeros (-ftz=true)."""
MOVED_SHARE = 1 / 16
"""The share of an output that may depend on what the reference chooses beside ties; else much of it is chance."""
_TRIED = 2
"""The runs that show how much choices move."""
_TF32_GAIN = 8.0
"""Strict float32 is more exact than tf32 by 2^13, and at least by this factor where a convolution decides the error."""

FORGIVEN = {"float64": 0.01, "float32": 0.01, "tf32": 0.05, "float16": 0.1, "bfloat16": 0.4}
"""The share of the outputs' size by which a single element must be off to be a wrong answer, which the tolerance must
exclude, for each precision that the reference computes in."""


@dataclass(frozen=True)
class ErrorEvidence:
    """The reference's errors for one output, from which its tolerance follows.

    `unit` is the tolerance at which an error of 1 is one local scale.
    """

    unit: Tolerance
    least: float
    errors: dict[str, float]
    """The largest error of each reformulation, in local scales."""
    forgiven: float
    of_plain_arithmetic: float = 0.0
    """The largest error, in local scales, with each sum taken term by term, each result a little off, or each result
    as short as the output. It counts as far as a wrong element stays outside the tolerance."""
    told_by: float = TOLD_BY
    """The factor by which it stays outside: 1 for variants, beside the inputs as drawn."""

    @property
    def error(self) -> float:
        return max(self.errors.values(), default=0.0)

    @property
    def is_telling(self) -> bool:
        """True where a single wrong element is outside the tolerance that honest kernels need."""
        return 1.25 * self.error <= self._most

    @property
    def bears_plain_arithmetic(self) -> bool:
        """True where the plainest arithmetic stays within the most, outside of which a wrong element is."""
        return self.of_plain_arithmetic <= self._most

    @property
    def share(self) -> float:
        """The tolerance, in local scales."""
        wanted = max(self.least, MARGIN * self.error, min(MARGIN * self.of_plain_arithmetic, self._most))
        return min(wanted, max(self._most, self.least)) if self.is_telling else wanted

    @property
    def tolerance(self) -> Tolerance:
        return self.unit.times(self.share)

    @property
    def loosest(self) -> Tolerance:
        """The tolerance that the plainest arithmetic could lead to at most."""
        return self.unit.times(max(self.share, self._most))

    @property
    def _most(self) -> float:
        """The largest tolerance that leaves a wrong element outside: in local scales, an element is off by half of its
        share of the size or more; one hundredth allows for faint items and rounding to the dtype."""
        return self.forgiven / (2 * 1.01 * self.told_by)


def gather_evidence(
    oracle: Oracle,
    inputs: Sequence[Any],
    precision: str | None,
    look: Callable[[Sequence[torch.Tensor]], None] = lambda native: None,
    answer: Callable[[], tuple[torch.Tensor, ...] | None] | None = None,
) -> tuple[tuple[torch.Tensor, ...], tuple[ErrorEvidence, ...]]:
    """Run the reference in each way in which an honest kernel may compute, and measure the errors of each output.
    Return the oracle's answer as well, which `answer` may know. `look` is shown the reference's own answer first, and
    may raise.

    Raises: InvalidProblem where the reference refuses the inputs, overflows where float64 doesn't, or answers equal
    inputs differently.
    """
    native: tuple[torch.Tensor, ...] | None
    native = oracle.native(copied(inputs))  # first: what raises in float64 is judged in float32 from then on
    look(native)
    want = answer() if answer else oracle.answer_if_room(inputs)
    if want is None:
        native = None  # which may have taken the room
        want = oracle.answer_anywhere(inputs)
    units = [unit_of(one) for one in want]
    found = None
    with contextlib.suppress(torch.OutOfMemoryError):
        found = _errors_of(oracle, inputs, want, units, native)
    if found is None:  # by now nothing of the attempt is alive
        native = None
        want = tuple(one.cpu() for one in want)
        torch.cuda.empty_cache()
        found = _errors_of(oracle, inputs, want, units, None)
    again, errors = found
    least = [least_for(dtype, precision) for dtype in oracle.spec.dtypes]
    if any(max(found.values(), default=0.0) > most for found, most in zip(errors, least, strict=True)):
        with contextlib.suppress(InvalidProblem, torch.OutOfMemoryError, MemoryError):
            _leave_out_choices(oracle, inputs, want, units, errors)
    evidence = tuple(
        ErrorEvidence(unit, one, found, FORGIVEN[_computed_in(found, dtype, precision)])
        for unit, one, dtype, found in zip(units, least, oracle.spec.dtypes, errors, strict=True)
    )
    with contextlib.suppress(InvalidProblem, torch.OutOfMemoryError, MemoryError):
        for name, cheaper, forgiven in _cheaper(oracle, inputs, want, units):
            evidence = _allowing(evidence, name, cheaper, forgiven)
    if not all(math.isfinite(one.error) for one in evidence):
        raise InvalidProblem(
            "the reference gives NaN or infinity where its float64 oracle doesn't, or the other way round: nothing "
            "can be compared there"
        )
    if any(error is not None and error > one.forgiven for error, one in zip(again, evidence, strict=True)):
        raise InvalidProblem(
            "the reference gives different outputs for the same inputs, so that no answer is the right one: it "
            "keeps state from call to call, or draws random numbers; make what it keeps or draws an input"
        )
    return want, evidence


def _errors_of(
    oracle: Oracle,
    inputs: Sequence[Any],
    want: Sequence[torch.Tensor],
    units: Sequence[Tolerance],
    native: tuple[torch.Tensor, ...] | None,
) -> tuple[list[float | None], list[dict[str, float]]]:
    """Measure how far a second run differs from the first, `native`, and by how much each reformulation errs, for each
    output. None: the first has no room beside the right answers, so that it is made anew and put onto the host."""
    first = oracle.native(copied(inputs)) if native is None else native
    eager = _distances(first, want, units)  # before the next call, which may write into the same memory
    if native is None:
        first = tuple(one.cpu() for one in first)
    again = _distances(oracle.native(copied(inputs)), first, units)
    del first, native
    errors: list[dict[str, float]] = [{} if error is None else {"eager": error} for error in eager]
    for name, outputs in oracle.reformulations(inputs):
        for found, error in zip(errors, _distances(outputs, want, units), strict=True):
            if error is not None:
                found[name] = error
        del outputs
    return again, errors


def _leave_out_choices(
    oracle: Oracle,
    inputs: Sequence[Any],
    want: Sequence[torch.Tensor],
    units: Sequence[Tolerance],
    errors: Sequence[dict[str, float]],
) -> None:
    """Measure the errors again, as far as the reference chooses, and what else it might choose moves few values, as
    excuses need it. Raises: InvalidProblem, torch.OutOfMemoryError, MemoryError."""
    with oracle.noting() as noted:
        oracle.native(copied(inputs))
    if not noted.choices:
        return
    for seed in range(_TRIED):
        near = oracle.choosing(inputs, NOISY, seed, want)
        if near is None or not all(map(_are_mostly_equal, near, want, units)):
            return
    with oracle.noting() as noted:
        for name, outputs in oracle.ways(inputs):
            distances = distances_by_choice(oracle, inputs, outputs, noted.choices, want, units)
            for found, unit, error in zip(errors, units, distances, strict=True):
                if not unit.is_exact:
                    found[name] = error
            del outputs


def _cheaper(
    oracle: Oracle, inputs: Sequence[Any], want: Sequence[torch.Tensor], units: Sequence[Tolerance]
) -> Iterator[tuple[str, Sequence[float], float]]:
    """Measure what the reference's own casts to half precision change, since a kernel needn't round there, and what
    tensor cores' sums of its float8 products do. Yields a name, each output's error and what is FORGIVEN then. Raises:
    InvalidProblem, torch.OutOfMemoryError, MemoryError."""
    if found := oracle.uncast(inputs, want):
        outputs, halves = found
        errors = list(map(distance, outputs, want, units))
        yield "without casts to half precision", errors, max(FORGIVEN[dtype_name(dtype)] for dtype in halves)
    with oracle.noting() as noted:
        summed = oracle.summed_in_float8(inputs)
    if summed:
        errors = distances_by_choice(oracle, inputs, summed, noted.choices, want, units)
        yield "tensor cores' sums of float8", errors, FORGIVEN["tf32"]


def _allowing(
    evidence: Sequence[ErrorEvidence], name: str, errors: Sequence[float], forgiven: float
) -> tuple[ErrorEvidence, ...]:
    """Add an error to each output's where it matters, and a wrong element still shows."""
    allowed = []
    for one, error in zip(evidence, errors, strict=True):
        looser = replace(one, errors={**one.errors, name: error}, forgiven=max(one.forgiven, forgiven))
        is_seen = not one.unit.is_exact and error > one.least / MARGIN
        allowed.append(looser if is_seen and looser.is_telling else one)
    return tuple(allowed)


def distances_by_choice(
    oracle: Oracle,
    inputs: Sequence[Any],
    outputs: Sequence[torch.Tensor],
    choices: Sequence[Choice],
    want: Sequence[torch.Tensor],
    units: Sequence[Tolerance],
) -> list[float]:
    """The distances of outputs from the right ones, `want`, or from those that the oracle has with the choices by which
    these outputs were made, where that moves few values. Where equality is wanted, another choice is as far off as
    anything."""
    found = list(map(distance, outputs, want, units))
    right = oracle.following(inputs, choices, want) if choices else None
    if right is None or not all(map(_are_mostly_equal, right, want, units)):
        return found
    near = map(distance, outputs, right, units)
    return [one if unit.is_exact else min(one, other) for one, other, unit in zip(found, near, units, strict=True)]


def _are_mostly_equal(one: torch.Tensor, other: torch.Tensor, unit: Tolerance) -> bool:
    moved = ~within(one, other, unit.times(LEAST_TOLERANCE["float32"]))
    return int(moved.sum()) <= MOVED_SHARE * moved.numel()


def _distances(
    got: Sequence[torch.Tensor], want: Sequence[torch.Tensor], units: Sequence[Tolerance]
) -> list[float | None]:
    """The distance of each output; None where equality is wanted."""
    parts = zip(got, want, units, strict=True)
    return [None if unit.is_exact else distance(one, right, unit) for one, right, unit in parts]


def unit_of(want: torch.Tensor) -> Tolerance:
    """The tolerance that an error of one local scale just meets; equality for what isn't floating."""
    if not (want.is_floating_point() or want.is_complex()):
        return Tolerance(0.0, 0.0)  # equality
    if _has_large_items(want):
        return Tolerance(max(_FAINT * rms(want), _FLUSHED), 1.0, 1.0)
    return Tolerance(max(rms(want), _FLUSHED), 1.0)


def rms(values: torch.Tensor) -> float:
    """The root mean square of the finite values; 0 where there are none."""
    sizes, count = [], 0
    for place in parts_of(values):
        part = values[place]
        size, finite = _norm(part), part.numel()
        if not math.isfinite(size):
            present = part.isfinite()
            size, finite = _norm(torch.where(present, part, 0)), int(present.sum())
        sizes.append(size)
        count += finite
    return math.hypot(*sizes) / math.sqrt(max(1, count))


def _norm(values: torch.Tensor) -> float:
    """The root of the sum of squares, in float64, without copies of many values."""
    is_wide = values.is_complex() or (values.is_floating_point() and values.itemsize > 1)
    dtype = torch.complex128 if values.is_complex() else torch.float64
    return float(torch.linalg.vector_norm(values if is_wide else values.double(), dtype=dtype))


def values_around(want: torch.Tensor, index: int) -> torch.Tensor:
    """The values whose root mean square counts for the element of this flat index: its item's, or all."""
    return want[index // want[:1].numel()] if _has_large_items(want) else want


def _has_large_items(want: torch.Tensor) -> bool:
    return want.dim() > 0 and want[:1].numel() >= _ELEMENTS_OF_AN_ITEM


def reaches(limit: float, got: torch.Tensor, want: torch.Tensor, unit: Tolerance) -> bool:
    """Say whether an error is as many local scales, without a look at all of a large output where one is."""
    return comparison_of(got, want, unit, enough=limit).worst >= limit


def distance(got: torch.Tensor, want: torch.Tensor, unit: Tolerance) -> float:
    """The largest error in local scales."""
    return comparison_of(got, want, unit).worst


def least_for(dtype: torch.dtype, precision: str | None) -> float:
    """The least tolerance of an output, in local scales: by its dtype, or by a looser declared precision."""
    name = _part_of(dtype)
    if name not in LEAST_TOLERANCE:
        return 0.0
    return max(LEAST_TOLERANCE[name], LEAST_TOLERANCE[precision] if precision else 0.0)


def least_tolerance(want: torch.Tensor, dtype: torch.dtype, precision: str | None) -> Tolerance:
    """The tolerance of an output where nothing can be measured. `want` are right values, as many as there are."""
    return unit_of(want).times(least_for(dtype, precision))


def _part_of(dtype: torch.dtype) -> str:
    """The name of a dtype; for a complex one, that of its parts."""
    name = dtype_name(dtype)
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def _computed_in(errors: dict[str, float], dtype: torch.dtype, precision: str | None) -> str:
    """The loosest of the output's dtype, the declared precision, and tf32 where the errors show it."""
    strict = errors.get("strict float32", math.inf)
    seen = "tf32" if max(errors.values(), default=0.0) > _TF32_GAIN * strict else "float32"
    return max((_part_of(dtype), precision or seen, seen), key=lambda name: FORGIVEN.get(name, 0.0))
