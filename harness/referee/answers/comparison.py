"""Compare an output with the oracle's, piece by piece."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy
import torch

from harness.model.check import Mismatch, OutputComparison, Tolerance

_FIRST_MISMATCHES = 5
_CHUNK = 2**24
"""The most elements that are compared at a time: each temporary takes 128 MiB in float64."""
_CPU_CHUNK = 2**18
"""The same on a CPU, unless an item has more: temporaries that stay in its cache take a fifth of the time."""
_MOST_PARTS = 256
"""Parts of a tensor on a CPU: all of its threads wait for each other in each operation, which can take milliseconds."""


class Comparison:
    """Collects the pieces of one output tensor of `shape` and native `dtype`."""

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, tolerance: Tolerance) -> None:
        self._shape = shape
        self._dtype = dtype
        self._tolerance = tolerance
        self._compared = self._mismatches = 0
        self._max_abs = self._max_rel = self._worst = 0.0
        self._first: list[Mismatch] = []

    def add(
        self,
        got: torch.Tensor,
        want: torch.Tensor,
        origin: tuple[int, ...] = (),
        only: torch.Tensor | None = None,
        enough: float = math.inf,
    ) -> None:
        """Compare one piece that begins at `origin`: whole items of dimension 0, a chunk of their elements at a time,
        until a chunk has an error of `enough` times what is allowed. `want` may be of a wider dtype and on another
        device; `only` masks what counts.

        Inexact dtypes: |got − want| ≤ atol + rtol·|want| + of_scale·rms, NaN equal to NaN, infinities equal in sign.
        Others, and an exact tolerance: equality.
        """
        for part in _chunks(got.shape, _most_at_a_time(got, math.prod(got.shape[1:]))):
            starts = [one.start for one in part]
            for axis, start in enumerate(origin):
                starts[axis] += start
            mask = None if only is None else only[part]
            self._add(got[part], want[part].to(got.device), tuple(starts), mask)
            if self._worst >= enough:
                return

    def result(self) -> OutputComparison:
        return OutputComparison(
            shape=self._shape,
            tolerance=self._tolerance,
            dtype=str(self._dtype).removeprefix("torch."),
            elements=math.prod(self._shape),
            compared=self._compared,
            mismatches=self._mismatches,
            max_abs_error=self._max_abs,
            max_rel_error=self._max_rel,
            worst=self._worst,
            first_mismatches=tuple(self._first),
        )

    def _add(self, got: torch.Tensor, want: torch.Tensor, origin: tuple[int, ...], only: torch.Tensor | None) -> None:
        shape, places, scale = got.shape, None, None
        if only is not None and not bool(only.all()):
            places = only.flatten().nonzero().flatten()
            if self._tolerance.of_scale and want.dim() > 1:
                whole = _overflowed(want, got.dtype)
                whole = torch.where(whole.isfinite(), whole.abs(), 0.0)
                scale = _rms_of_items(whole)[places // max(1, math.prod(shape[1:]))]
            got, want = got.take(places), want.take(places)
        self._compared += got.numel()
        if not got.numel():
            return
        worst = _worst_of_usual(got, want, self._tolerance, scale)
        if worst is None:
            error, excess, relative = _errors(got, want, self._tolerance, scale)
            worst = _Worst(float(error.max()), float(relative.max()), float(excess.max()))
            wrong = (excess > 1).flatten().nonzero().flatten()
            for place in wrong[: _FIRST_MISMATCHES - len(self._first)].tolist():
                # torch's own function imports sympy.
                index = numpy.unravel_index(place if places is None else int(places[place]), shape)
                values = (side.flatten()[place] for side in (got, want))
                self._first.append(_mismatch(tuple(map(int, numpy.add(index, origin))), *values))
            self._mismatches += wrong.numel()
        self._max_abs = max(self._max_abs, worst.absolute)
        self._max_rel = max(self._max_rel, worst.relative)
        self._worst = max(self._worst, worst.excess)


def comparison_of(
    got: torch.Tensor,
    want: torch.Tensor,
    tolerance: Tolerance,
    only: torch.Tensor | None = None,
    enough: float = math.inf,
) -> OutputComparison:
    """Compare a whole output; the arguments are those of Comparison.add()."""
    comparison = Comparison(tuple(got.shape), got.dtype, tolerance)
    comparison.add(got, want, only=only, enough=enough)
    return comparison.result()


def within(got: torch.Tensor, want: torch.Tensor, tolerance: Tolerance) -> torch.Tensor:
    """Tell for each element whether it is within the tolerance."""
    found = torch.empty(got.shape, dtype=torch.bool, device=got.device)
    for part in parts_of(got):
        _, excess, _ = _errors(got[part], want[part].to(got.device), tolerance, None)
        found[part] = excess <= 1
    return found


def parts_of(values: torch.Tensor) -> Iterator[tuple[slice, ...]]:
    """Divide a tensor into parts whose temporaries are small beside it where it is large."""
    return _chunks(values.shape, _most_at_a_time(values))


def _most_at_a_time(values: torch.Tensor, item: int = 0) -> int:
    """The number of elements of a part; on a CPU at least an item, where it isn't larger than what a GPU takes."""
    if values.is_cuda:
        return _CHUNK
    return min(_CHUNK, max(_CPU_CHUNK, item, values.numel() // _MOST_PARTS))


def _chunks(shape: Sequence[int], most: int) -> Iterator[tuple[slice, ...]]:
    """Divide a shape in row-major order into parts of at most so many elements: whole items of dimension 0, or a part
    of one."""
    if 0 in shape:
        return
    whole = tuple(slice(0, size) for size in shape)
    if math.prod(shape) <= most:
        yield whole
        return
    step = most // math.prod(shape[1:])
    for start in range(0, shape[0], max(1, step)):
        part = slice(start, min(start + max(1, step), shape[0]))
        for rest in (whole[1:],) if step else _chunks(shape[1:], most):
            yield (part, *rest)


class _Worst(NamedTuple):
    """The largest errors of a part; `excess` is a multiple of the allowed error."""

    absolute: float
    relative: float
    excess: float


_EQUAL = _Worst(0.0, 0.0, 0.0)


def _worst_of_usual(
    got: torch.Tensor, want: torch.Tensor, tolerance: Tolerance, scale: torch.Tensor | None
) -> _Worst | None:
    """Find what _errors() finds in a third of its passes over memory, with one wait for the device.

    The result is None where a value is wrong, infinite or NaN, or beyond the output's dtype.
    """
    is_float = got.is_floating_point()
    if not is_float or tolerance.is_exact:
        return _EQUAL if torch.equal(got, want.to(got.dtype)) else None
    if not want.is_floating_point():
        return None
    size = want.abs().double()
    error = (got - want.double()).abs_()
    excess = (error / _allowed(size, tolerance, scale)).max()
    largest = torch.stack([error.max(), excess, size.max()])
    relative = error.div_(size).nan_to_num_(0.0, 0.0, 0.0).max()
    absolute, worst, most, share = torch.cat([largest, relative[None]]).tolist()
    is_usual = math.isfinite(absolute) and worst <= 1 and most <= torch.finfo(got.dtype).max
    return _Worst(absolute, share, worst) if is_usual else None


def _errors(
    got: torch.Tensor, want: torch.Tensor, tolerance: Tolerance, scale: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Compute each element's absolute error, that error as a multiple of the allowed one, and the relative error."""
    if not (got.is_floating_point() or got.is_complex()):
        error, excess = _compare_exactly(got, want)
    elif tolerance.is_exact:
        error, excess = _compare_floats(got, want.to(got.dtype), Tolerance(0.0, 0.0), None)
    else:
        error, excess = _compare_floats(got, _overflowed(want, got.dtype), tolerance, scale)
    return error, excess, _relative(error, want)


def _compare_exactly(got: torch.Tensor, want: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    unequal = got != want.to(got.dtype)
    error = torch.where(unequal, (got.double() - want.double()).abs(), 0.0)
    return error, torch.where(unequal, math.inf, 0.0)


def _compare_floats(
    got: torch.Tensor, want: torch.Tensor, tolerance: Tolerance, scale: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The absolute error, and the error as a multiple of the allowed one: infinite where special values differ."""
    wide = torch.complex128 if got.is_complex() else torch.float64
    have, need = got.to(wide), want.to(wide)
    special = ~(torch.isfinite(have) & torch.isfinite(need))
    coincide = (have == need) | (torch.isnan(have) & torch.isnan(need))
    error = (have - need).abs()
    error = torch.where(special, torch.where(coincide, 0.0, math.inf), error)
    allowed = _allowed(torch.where(special, 0.0, need.abs()), tolerance, scale)
    excess = torch.where(error == 0, 0.0, torch.where(torch.isinf(error), math.inf, error / allowed))
    return error, excess


def _allowed(size: torch.Tensor, tolerance: Tolerance, scale: torch.Tensor | None) -> torch.Tensor:
    """Return how far each value may be off. `size` is that of the right values, zero where they aren't finite; `scale`
    is each one's root mean square of its item, found here where these are whole items."""
    allowed = tolerance.atol + tolerance.rtol * size
    if not tolerance.of_scale or not size.dim():
        return allowed + tolerance.of_scale * size
    if scale is None:
        scale = _rms_of_items(size) if size.dim() > 1 else size
    return allowed.add_(tolerance.of_scale * scale.reshape(-1, *[1] * (size.dim() - 1)))


def _rms_of_items(values: torch.Tensor) -> torch.Tensor:
    """The root mean square of each item of dimension 0."""
    return values.abs().double().flatten(1).square().mean(1).sqrt()


def _overflowed(want: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Make right answers infinite that are beyond the output's dtype: float16 ends at 65504."""
    narrow = want.to(dtype)
    return torch.where(torch.isinf(narrow), narrow.to(want.dtype), want)


def _relative(error: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """The relative error; 0 where the right answer is 0."""
    size = want.abs().double() if want.is_complex() else want.double().abs()
    relative = torch.where((error == 0) | (size == 0), 0.0, error / size)
    return torch.where(torch.isinf(error), math.inf, relative)


def _mismatch(index: tuple[int, ...], got: torch.Tensor, want: torch.Tensor) -> Mismatch:
    """Describe an element; a complex one by its real or its imaginary part, whichever differs more."""
    if not want.is_complex():
        return Mismatch(index, float(got), float(want))
    real, imaginary = ((float(one), float(two)) for one, two in zip(_parts(got), _parts(want), strict=True))
    if _apart(*imaginary) > _apart(*real):
        return Mismatch(index, *imaginary, "imaginary")
    return Mismatch(index, *real, "real")


def _parts(value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return value.real, value.imag


def _apart(got: float, want: float) -> float:
    """The distance of two numbers; infinite where one alone is NaN, or infinities differ."""
    if got == want or (math.isnan(got) and math.isnan(want)):
        return 0.0
    distance = abs(got - want)
    return math.inf if math.isnan(distance) else distance
