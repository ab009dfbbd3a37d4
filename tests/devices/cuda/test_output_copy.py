"""How two layouts are walked together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import pytest
import torch

from harness.devices.cuda.output_copy import Dimension, in_pieces, merged, tiled


@pytest.mark.parametrize(
    ("layouts", "nbytes", "dimensions"),
    [
        (((2, 3, 4), (12, 4, 1), (12, 4, 1)), 4, (Dimension(24, 4, 4),)),
        (((3, 5), (5, 1), (1, 3)), 2, (Dimension(3, 10, 2), Dimension(5, 2, 6))),
        (((3, 5), (5, 1), (1, 0)), 4, (Dimension(3, 20, 4), Dimension(5, 4, 0))),
        (((), (), ()), 8, ()),
    ],
    ids=["equal-and-contiguous", "transposed-source", "expanded-source", "scalar"],
)
def test_layouts_are_merged(layouts: tuple[Any, Any, Any], nbytes: int, dimensions: tuple[Dimension, ...]) -> None:
    assert merged(*layouts, nbytes) == dimensions


def test_too_many_dimensions_are_refused() -> None:
    shape = (2,) * 10
    backwards = [2**number for number in range(10)]
    with pytest.raises(ValueError, match="8 dimensions"):
        merged(shape, backwards[::-1], backwards, 4)


@pytest.mark.parametrize("nbytes", [1, 2**20, 2**20 + 1, 8 * 2**20, 100 * 2**20 + 7])
def test_pieces_cover_everything_once(nbytes: int) -> None:
    pieces = in_pieces(nbytes)
    assert pieces[0][0] == 0
    assert pieces[-1][1] == nbytes
    assert all(end == begin for (_, end), (begin, _) in itertools.pairwise(pieces))
    assert len(pieces) <= 8


@pytest.mark.parametrize(
    ("shape", "order"),
    [((4, 6, 64), (2, 0, 1)), ((33, 31, 7), (2, 0, 1)), ((96, 64), (1, 0)), ((5, 3, 2, 4), (3, 1, 0, 2)), ((7,), (0,))],
)
def test_a_walk_in_tiles_meets_every_element_once(shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    source = torch.arange(math.prod(shape), dtype=torch.int32).reshape(shape).permute(order)
    to = torch.empty(source.shape, dtype=torch.int32)
    dimensions = tiled(merged(to.shape, to.stride(), source.stride(), 4))
    found = [-1] * source.numel()
    flat = torch.arange(math.prod(shape)).tolist()
    for to_byte, source_byte in _walk(dimensions):
        found[to_byte // 4] = flat[source_byte // 4]
    assert found == source.contiguous().flatten().tolist()


def _walk(dimensions: Iterable[Dimension]) -> Iterable[tuple[int, int]]:
    """As kernels/strided_copy.cu does."""
    steps = [[(i * d.to_step, i * d.source_step) for i in range(d.size)] for d in dimensions]
    for chosen in itertools.product(*steps):
        yield sum(to for to, _ in chosen), sum(source for _, source in chosen)
