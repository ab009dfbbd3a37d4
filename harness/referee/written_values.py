"""The values that a turn wrote into an output: a sparse file, in which a hole means that nothing was written."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import torch

from harness.devices.base import SharedBuffer

_PIECE_ELEMENTS = 2**22


def written_rows(output: torch.Tensor, buffer: SharedBuffer) -> torch.Tensor:
    """Indices of dimension 0 under which something was written, in order."""
    width = max(1, math.prod(output.shape[1:]))
    found = [torch.unique_consecutive(places // width) for places in written_places(output, buffer)]
    rows: torch.Tensor = torch.unique_consecutive(torch.cat([torch.empty(0, dtype=torch.int64), *found]))
    return rows


def written_places(output: torch.Tensor, buffer: SharedBuffer) -> Iterator[torch.Tensor]:
    """Places of an output's values that were written, in order and in pieces.

    Holes are not read: reading a shared mapping fills it with pages.
    """
    flat = output.view(-1)
    for start, stop in data_extents(buffer):
        first, last = max(0, start) // output.itemsize, min(-(-stop // output.itemsize), flat.numel())
        for begin in range(first, last, _PIECE_ELEMENTS):
            yield was_written(flat[begin : min(begin + _PIECE_ELEMENTS, last)]).nonzero().view(-1) + begin


def runs(rows: torch.Tensor, output: torch.Tensor) -> Iterator[tuple[int, int]]:
    """Ranges of neighbouring rows, none larger than a piece unless a row is."""
    most = max(1, _PIECE_ELEMENTS // max(1, math.prod(output.shape[1:])))
    gaps = (rows.diff() > 1).nonzero().view(-1) + 1
    for run in torch.tensor_split(rows, gaps):
        for start in range(int(run[0]), int(run[-1]) + 1, most):
            yield start, min(start + most, int(run[-1]) + 1)


def was_written(part: torch.Tensor, or_is_zero: bool = False) -> torch.Tensor:
    """Tell which elements were written. An unwritten one is zero (a hole of the file) or the allocation's poison."""
    bits = _bits(part)
    found = (bits != -1) & ((bits != 0) | or_is_zero)
    return found.any(dim=-1) if part.is_complex() else found


def was_changed(after: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Tell which values have other bits, of those that are written on one side at least."""
    found = _bits(after) != _bits(before)
    return (found.any(dim=-1) if after.is_complex() else found) & (was_written(after) | was_written(before))


def _bits(values: torch.Tensor) -> torch.Tensor:
    values = torch.view_as_real(values) if values.is_complex() else values
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return values.contiguous().view(integers[values.dtype.itemsize])


def data_extents(buffer: SharedBuffer) -> Iterator[tuple[int, int]]:
    """Byte ranges of the buffer that are no holes."""
    assert buffer.descriptor is not None
    size, position = os.fstat(buffer.descriptor).st_size, 0
    while position < size:
        try:
            start = os.lseek(buffer.descriptor, position, os.SEEK_DATA)
        except OSError:
            return
        position = os.lseek(buffer.descriptor, start, os.SEEK_HOLE)
        yield start - buffer.handle.offset, position - buffer.handle.offset
