"""Inputs of the full shape that need little memory: a short stretch of real values, repeated over a whole buffer."""

from __future__ import annotations

import contextlib
import itertools
import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from harness.model.verdict import Verdict
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.output_spec import tensor_bytes
from harness.referee.answers.reference import Reference
from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.inputs.ties import has_open_order
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed
from harness.workspace.problem import FULL

_DRAWN_BYTES = 2 * 2**30
"""The most that the referee draws where there is no small case to draw from."""
_PERIOD_PAGES = 4099
"""16 MiB, and a prime number of pages, so that rows and channels don't repeat in step."""
_OF_INDICES = (torch.int32, torch.int64)


@dataclass(frozen=True)
class PeriodicInput:
    """An input of `shape` whose memory holds `stretch` over and over. `stride`: its layout, unless it is contiguous."""

    stretch: torch.Tensor
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.stretch.dtype.itemsize

    def rows(self, start: int, stop: int) -> torch.Tensor:
        """Rows of dimension 0, made real."""
        if self.stride:
            places = torch.arange(start, stop) * self.stride[0]
            for size, step in zip(self.shape[1:], self.stride[1:], strict=True):
                places = places[..., None] + torch.arange(size) * step
            return self.stretch[places % self.stretch.numel()]
        width = math.prod(self.shape[1:])
        index, end = start * width, stop * width
        pieces = []
        while index < end:
            begin = index % self.stretch.numel()
            piece = self.stretch[begin : begin + end - index]
            pieces.append(piece)
            index += piece.numel()
        return torch.cat(pieces).view(stop - start, *self.shape[1:])


def stretched_inputs(setting: Setting, seed: int) -> list[Any]:
    """Stretch the inputs of the problem's first small case, or of this one if there is none, to this one's shapes.
    Integers can be offsets or indices, which mean nothing at another shape: then this one's own are drawn."""
    specs = setting.meta_inputs
    if specs is None:
        raise SolutionFailed(
            Verdict.UNSUPPORTED,
            "get_inputs() needs real memory, of which the simulator hasn't as much",
            next_step="run it on a GPU",
        )
    small = next((case for case in setting.problem.cases if case != FULL), None)
    if small and any(map(_may_be_indices, specs)) and (beside := _beside_integers(specs, setting, small, seed)):
        return beside
    is_own = draws_all(specs, setting)
    drawn = Reference(setting.problem, small, "cpu").make_inputs(seed) if small and not is_own else []
    if len(drawn) != len(specs):  # lists may have another length there
        if tensor_bytes(specs) > _DRAWN_BYTES:
            why = "there is no small case" if small is None else "integers, which may be indices, aren't the same there"
            raise SolutionFailed(
                Verdict.UNSUPPORTED,
                f"inputs of the full shape are too large to draw, and can't be stretched from a small case's: {why}",
                next_step="run it on a GPU" + ("" if small else ", or add a small case to problem.yaml"),
            )
        drawn = make_inputs(setting, Drawn(seed))
    return [
        _laid_out(values, spec, is_own) if isinstance(spec, torch.Tensor) else spec
        for values, spec in zip(drawn, specs, strict=True)
    ]


def draws_all(specs: Sequence[object], setting: Setting) -> bool:
    """Say whether the inputs are those of this shape. Stretched from a small case's, integers mean something else, and
    values repeat, among which an order may be open."""
    is_open = has_open_order(setting) and tensor_bytes(specs) <= _DRAWN_BYTES
    return is_open or any(map(_may_be_indices, specs))


def _beside_integers(specs: Sequence[Any], setting: Setting, small: str, seed: int) -> list[Any]:
    """This shape's own inputs, but random floating-point numbers stretched from the small case's. Empty where these
    can't be told apart, or the others take too much memory as well."""
    of_indices = tensor_bytes([spec for spec in specs if _may_be_indices(spec)])
    if has_open_order(setting) or not of_indices <= _DRAWN_BYTES < tensor_bytes(specs):
        return []
    drawn = Reference(setting.problem, small, "cpu").make_inputs(seed)
    own: list[Any] = []
    with contextlib.suppress(InvalidProblem, RuntimeError, MemoryError):
        own = setting.reference.make_integers(seed)
    are_meta = [isinstance(value, torch.Tensor) and value.is_meta for value in own]
    if not len(drawn) == len(own) == len(specs) or any(map(_may_be_indices, itertools.compress(own, are_meta))):
        return []
    return [
        _laid_out(of_small if is_meta else value, spec, not is_meta) if isinstance(spec, torch.Tensor) else spec
        for value, of_small, spec, is_meta in zip(own, drawn, specs, are_meta, strict=True)
    ]


def periodic_input(
    values: torch.Tensor, shape: tuple[int, ...], page_bytes: int, stride: tuple[int, ...] = ()
) -> PeriodicInput:
    """Stretch `values` (drawn at a small shape) over one period."""
    count = _PERIOD_PAGES * page_bytes // values.dtype.itemsize
    flat = values.reshape(-1)
    return PeriodicInput(flat.repeat(-(-count // flat.numel()))[:count].clone(), shape, stride)


def rows_of(inputs: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    """Make these rows of each input real."""

    def together(value: PeriodicInput) -> torch.Tensor:
        return torch.cat([value.rows(row, row + 1) for row in rows])

    return [together(value) if isinstance(value, PeriodicInput) else value for value in inputs]


def _laid_out(values: torch.Tensor, spec: torch.Tensor, is_whole: bool) -> PeriodicInput:
    shape, stride = tuple(spec.shape), () if spec.is_contiguous() else spec.stride()
    if not (is_whole or _may_be_indices(spec)):
        return periodic_input(values, shape, mmap.PAGESIZE, stride)
    laid = torch.empty_strided(shape, spec.stride(), dtype=values.dtype).copy_(values)
    flat = torch.empty(0, dtype=values.dtype).set_(laid.untyped_storage())  # whole, up to the end of its last page
    return PeriodicInput(functional.pad(flat, (0, -flat.numel() % mmap.PAGESIZE)), shape, stride)


def _may_be_indices(spec: object) -> bool:
    return isinstance(spec, torch.Tensor) and spec.dim() > 0 and spec.dtype in _OF_INDICES
