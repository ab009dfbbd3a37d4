"""The pure parts of sampling: periodic inputs, and telling what was written."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from harness.backends.base import BufferHandle, SharedBuffer
from harness.referee.sampling import PeriodicInput, _data_extents, _runs, _was_written, _written_rows, periodic_input

PAGE = os.sysconf("SC_PAGE_SIZE")
EXTENT = 64 * 2**10
"""Holes are kept at the grain of the kernel's pages, which may be larger than PAGE in a memfd."""


@pytest.mark.parametrize(("start", "stop"), [(0, 1), (1, 3), (2, 5), (0, 5)])
def test_rows_are_the_stretch_over_and_over(start: int, stop: int) -> None:
    values = PeriodicInput(torch.arange(7.0), (5, 2, 4))
    whole = torch.arange(40).remainder(7).float().reshape(5, 2, 4)
    assert torch.equal(values.rows(start, stop), whole[start:stop])
    assert values.nbytes == 160


def test_a_row_beyond_32_bits_is_found_by_its_index() -> None:
    values = PeriodicInput(torch.arange(5), (2**33, 4))
    assert values.rows(2**32, 2**32 + 1).tolist() == [[4, 0, 1, 2]]  # 2³⁴ leaves 4 when divided by 5


def test_drawn_values_are_repeated_over_a_prime_number_of_pages() -> None:
    made = periodic_input(torch.tensor([[1.0, 2.0, 3.0]]), (100, 100), page_bytes=8)
    assert made.stretch.numel() == 4099 * 8 // 4
    assert made.stretch[:4].tolist() == [1.0, 2.0, 3.0, 1.0]
    assert made.shape == (100, 100)


def test_a_stretch_is_no_view_of_what_was_drawn() -> None:
    drawn = torch.ones(3)
    made = periodic_input(drawn, (4,), page_bytes=4)
    drawn.zero_()
    assert made.stretch.min() == 1.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool])
def test_zero_counts_as_unwritten(dtype: torch.dtype) -> None:
    values = torch.zeros(1, 3, dtype=dtype)
    values[0, 2] = 1
    assert _was_written(values).tolist() == [[False, False, True]]


def test_poison_counts_as_unwritten() -> None:
    values = torch.full((16,), 0xFF, dtype=torch.uint8).view(torch.float32).reshape(1, 4)
    values[0, 1] = 2.0
    assert _was_written(values).tolist() == [[False, True, False, False]]


@pytest.fixture
def sparse() -> Iterator[SharedBuffer]:
    """Eight extents, nothing written yet."""
    descriptor = os.memfd_create("test")
    os.truncate(descriptor, 8 * EXTENT)
    content = torch.from_file(f"/proc/self/fd/{descriptor}", shared=True, size=8 * EXTENT, dtype=torch.uint8)
    yield SharedBuffer(content, BufferHandle("memfd", 8 * EXTENT), descriptor, lambda: None)
    os.close(descriptor)


def test_nothing_written_has_no_extents(sparse: SharedBuffer) -> None:
    assert list(_data_extents(sparse)) == []


def test_what_was_written_is_found_without_reading_holes(sparse: SharedBuffer) -> None:
    output = sparse.content.view(torch.float32).reshape(4, 2, EXTENT // 4)
    output[1, 0, 5] = 1.0
    output[3, 1, -1] = 2.0
    assert _written_rows(output, sparse).tolist() == [1, 3]
    touched = sum(stop - start for start, stop in _data_extents(sparse))
    assert touched <= 2 * EXTENT


def test_rows_alone_are_found_in_a_flat_output(sparse: SharedBuffer) -> None:
    output = sparse.content.view(torch.int32)
    output[EXTENT // 2] = 7
    assert _written_rows(output, sparse).tolist() == [EXTENT // 2]


def test_neighbouring_rows_are_compared_together() -> None:
    rows = torch.tensor([0, 1, 2, 7, 9, 10])
    assert list(_runs(rows, torch.empty(16, 4))) == [(0, 3), (7, 8), (9, 11)]
    assert list(_runs(rows[:3], torch.empty(16, 2**21, device="meta"))) == [(0, 2), (2, 3)]
