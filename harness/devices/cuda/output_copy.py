"""Copying an output into its shared buffer as it lies in memory, without torch, which a solution could hook."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from harness.devices.cuda.meter import Meter
from harness.devices.cuda.tracer import STRIDED_COPY

_PIECES = 8
_LEAST_PIECE = 2**20
_MOST_DIMENSIONS = 8
_THREADS, _MOST_BLOCKS = 256, 4096
_TILE = 32

# torch's own, taken before any code of a solution runs.
_base = torch._C.TensorBase
_data_ptr, _stride, _element_size = _base.data_ptr, _base.stride, _base.element_size
_size: Callable[[torch.Tensor], Sequence[int]] = _base.size
_dtype: Callable[[torch.Tensor], torch.dtype] = vars(_base)["dtype"].__get__
_plainly = torch._C.DisableTorchFunction


class _Walk(ctypes.Structure):
    """The struct that kernels/strided_copy.cu declares; steps in bytes."""

    _fields_ = [
        ("to", ctypes.c_uint64),
        ("source", ctypes.c_uint64),
        ("count", ctypes.c_uint64),
        ("width", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("size", ctypes.c_uint64 * _MOST_DIMENSIONS),
        ("to_step", ctypes.c_int64 * _MOST_DIMENSIONS),
        ("source_step", ctypes.c_int64 * _MOST_DIMENSIONS),
    ]


@dataclass(frozen=True)
class _Layout:
    """A tensor as memory. Read with torch's functions switched off that a mode or a subclass would answer for."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, tensor: torch.Tensor) -> _Layout:
        with _plainly():
            return cls(_data_ptr(tensor), tuple(_size(tensor)), tuple(_stride(tensor)), _element_size(tensor))


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """Return where its first element lies, and how many bytes there are up to its last."""
    layout = _Layout.of(tensor)
    if 0 in layout.shape:
        return layout.address, 0
    reach = sum((size - 1) * stride for size, stride in zip(layout.shape, layout.strides, strict=True))
    return layout.address, (reach + 1) * layout.width


def holds_numbers(tensor: torch.Tensor) -> bool:
    """Tell numbers from indices, flags and the like, which aren't valid in any order."""
    with _plainly():
        dtype = _dtype(tensor)
    return dtype.is_floating_point or dtype.is_complex


@dataclass(frozen=True)
class Dimension:
    """A dimension of `size` elements, so many bytes apart in the destination and in the source."""

    size: int
    to_step: int
    source_step: int


class Snapshots:
    """Stores outputs on the measuring stream."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._strided_copy = meter.kernel("strided_copy", STRIDED_COPY)
        self._random = random.SystemRandom()  # without a state that a solution could seed or copy

    def store(self, source: torch.Tensor, destination: torch.Tensor, stream: int) -> int:
        """Copy to a tensor of the same shape and dtype; return the number of bytes."""
        taken, given = _Layout.of(source), _Layout.of(destination)
        dimensions = merged(given.shape, given.strides, taken.strides, given.width)
        nbytes = given.width
        for dimension in dimensions:
            nbytes *= dimension.size
        if nbytes == 0:
            return 0
        if not dimensions or (
            len(dimensions) == 1 and dimensions[0].to_step == given.width == dimensions[0].source_step
        ):
            self._copy_in_pieces(given.address, taken.address, nbytes, stream)
        else:
            self._copy_strided(given.address, taken.address, given.width, tiled(dimensions), stream)
        return nbytes

    def _copy_in_pieces(self, destination: int, source: int, nbytes: int, stream: int) -> None:
        """Copy pieces in an order drawn anew: work that still goes on elsewhere can't keep ahead of the copy."""
        pieces = list(in_pieces(nbytes))
        self._random.shuffle(pieces)
        for begin, end in pieces:
            self._meter.copy(destination + begin, source + begin, end - begin, stream)

    def _copy_strided(
        self, destination: int, source: int, width: int, dimensions: Sequence[Dimension], stream: int
    ) -> None:
        count = 1
        for dimension in dimensions:
            count *= dimension.size
        walk = _Walk(destination, source, count, width, len(dimensions))
        for number, dimension in enumerate(dimensions):
            walk.size[number] = dimension.size
            walk.to_step[number] = dimension.to_step
            walk.source_step[number] = dimension.source_step
        blocks = min(-(-count // _THREADS), _MOST_BLOCKS)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(walk))
        self._meter.launch(self._strided_copy, blocks, _THREADS, arguments, stream)


def in_pieces(nbytes: int) -> list[tuple[int, int]]:
    """Cut a length into pieces, from where to where; a short one stays whole."""
    size = max(_LEAST_PIECE, -(-nbytes // _PIECES))
    return [(begin, min(begin + size, nbytes)) for begin in range(0, nbytes, size)]


def merged(
    shape: Sequence[int], to_strides: Sequence[int], source_strides: Sequence[int], width: int
) -> tuple[Dimension, ...]:
    """Find the fewest dimensions that walk both layouts, outermost of the destination first."""
    walked = [
        Dimension(size, to * width, source * width)
        for size, to, source in zip(shape, to_strides, source_strides, strict=True)
        if size != 1
    ]
    walked.sort(key=lambda dimension: -dimension.to_step)
    found: list[Dimension] = []
    for inner in walked:
        outer = found[-1] if found else None
        if (
            outer
            and outer.to_step == inner.to_step * inner.size
            and outer.source_step == inner.source_step * inner.size
        ):
            found[-1] = Dimension(outer.size * inner.size, inner.to_step, inner.source_step)
        else:
            found.append(inner)
    if len(found) > _MOST_DIMENSIONS:
        raise ValueError(f"an output whose layout takes more than {_MOST_DIMENSIONS} dimensions can't be stored")
    return tuple(found)


def tiled(dimensions: Sequence[Dimension]) -> tuple[Dimension, ...]:
    """Walk the same elements in tiles if source and destination run along different dimensions: neighbouring threads
    read neighbouring addresses, and what they write comes together in the L2 cache."""
    along_to = min(range(len(dimensions)), key=lambda number: dimensions[number].to_step)
    along_source = min(range(len(dimensions)), key=lambda number: dimensions[number].source_step or 2**62)
    if along_to == along_source or len(dimensions) > _MOST_DIMENSIONS - 2:
        return tuple(dimensions)
    outer: list[Dimension] = []
    inner: list[Dimension] = []
    for number, dimension in enumerate(dimensions):
        side = _divisor(dimension.size) if number in (along_to, along_source) else 1
        if dimension.size > side:
            outer.append(Dimension(dimension.size // side, dimension.to_step * side, dimension.source_step * side))
        if side > 1:
            place = len(inner) if number == along_source else 0
            inner.insert(place, Dimension(side, dimension.to_step, dimension.source_step))
    return (*outer, *inner)


def _divisor(size: int) -> int:
    """Find the longest side of a tile that divides the dimension."""
    return max(side for side in range(1, _TILE + 1) if size % side == 0)
