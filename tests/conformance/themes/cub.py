"""kernels/cub.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import ORDER, Case, floats, ints

case = partial(Case, "cub")

REDUCE = "`cub::BlockReduce`, `WarpReduce`, `ArgMax`"
SCAN = "`cub::BlockScan`, `WarpScan`"
RADIX_SORT = "`cub::BlockRadixSort`"
MERGE_SORT = "`cub::BlockMergeSort`, `WarpMergeSort`"
DEVICE = "`cub::DeviceReduce`, `DeviceScan`, `DeviceRadixSort`"
EXCHANGE = "`cub::BlockLoad`, `BlockStore`, `BlockExchange`"


def _block_reduce(x: torch.Tensor) -> torch.Tensor:
    first = x[::2]
    return torch.stack([first.sum(), x.sum(), first.max(), first[:50].max()]).int()


def _argmax(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.max().view(1), x.argmax().int().view(1)


def _large(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x.sum() * torch.arange(1, 129), x[:70].sum().view(1)]).int()


def _warps(x: torch.Tensor) -> torch.Tensor:
    warps = x.view(2, 32)
    scan, total = warps.cumsum(1), warps.sum(1)
    return torch.cat([total, x.view(8, 8).max(1).values, scan.view(-1), (scan - warps).view(-1), total]).int()


def _block_scan(x: torch.Tensor) -> torch.Tensor:
    first, second = x[::2], x[1::2]
    highest = torch.cat([torch.tensor([40]), x]).cummax(0).values[:-1]
    sums = [first.cumsum(0) - first, first.sum().expand(64), x.cumsum(0)]
    return torch.cat([*sums, highest, second.cummax(0).values]).int()


def _pairs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    order = x.argsort(descending=True, stable=True)
    return x[order], order.int()


def _pairs_by_bits(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A bfloat16 is a float's upper half, and sorts like it; here none is negative."""
    order = (x.view(torch.int32) >> 16).argsort(descending=True, stable=True)
    return x[order], order.int()


def _merged(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of 32 each, then of the first hundred of what came of that."""
    order = x.view(4, 32).argsort(dim=1, descending=True, stable=True) + torch.arange(4).view(4, 1) * 32
    by_warp = order.view(-1)
    whole = by_warp[x[by_warp][:100].argsort(descending=True, stable=True)]
    rest = torch.zeros(28)
    return torch.cat([x[by_warp], x[whole], rest]), torch.cat([by_warp, whole, rest]).int()


def _exchanged(x: torch.Tensor) -> torch.Tensor:
    items = torch.where(torch.arange(256) < 200, x, -1) * 2 + torch.arange(256) % 4
    return (items + torch.arange(256) // 64 * 10).int()


def _of_device(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    top, bottom = x.max(), x.min()
    found = [x.sum(), top, bottom, x.argmax(), top, x.argmin(), bottom, x[:300].sum() + 7]
    highest = torch.cat([torch.tensor([-200]), x]).cummax(0).values[:-1]
    return torch.stack(found).int(), torch.cat([x.cumsum(0), x.cumsum(0) - x, x.cummax(0).values, highest]).int()


def _sorted_by_device(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    down, up = x.argsort(descending=True, stable=True), x[:37].argsort(stable=True)
    return torch.cat([x.sort().values, x[down], x[up]]), torch.cat([down, up]).int()


MIXED = torch.cat([floats(186, -9, 9), torch.tensor([0.5, -2.0, float("inf"), -float("inf"), 1e-40, -1e-40])])

CASES = (
    case("cub_block_reduce", REDUCE, (ints(192, -90, 90),), _block_reduce),
    case("cub_block_reduce_of_large", REDUCE, (ints(112, -90, 90),), _large),
    case("cub_argmax", REDUCE, (ints(700, 0, 50).float(),), _argmax),
    case("cub_warp_reduce_and_scan", REDUCE, (ints(64, -90, 90),), _warps),
    case("cub_block_scan", SCAN, (ints(128),), _block_scan),
    case("cub_block_scan_by_warps", SCAN, (ints(128),), _block_scan),
    case("cub_radix_sort_int", RADIX_SORT, (ints(192, -(2**31), 2**31 - 1),), lambda x: x.sort().values),
    case("cub_radix_sort_float", RADIX_SORT, (MIXED,), lambda x: x.sort(descending=True).values),
    case("cub_radix_sort_half", RADIX_SORT, (MIXED[:190].half().repeat(2)[:192],), lambda x: x.sort().values),
    case("cub_radix_sort_pairs", RADIX_SORT, (ints(128, -20, 20).float(),), _pairs),
    case("cub_radix_sort_striped", RADIX_SORT, (ints(128, -20, 20).float(),), _pairs),
    case("cub_radix_sort_of_bits", RADIX_SORT, (floats(128, 1, 1.2),), _pairs_by_bits),
    case("cub_merge_sort", MERGE_SORT, (ints(128, -20, 20).float(),), _merged),
    case("cub_device_reduce_and_scan", DEVICE, (ints(1000, -90, 90),), _of_device),
    case(
        "cub_device_sum_of_floats", DEVICE, (floats(100_000, 0, 1),), lambda x: x.double().sum().float().view(1), ORDER
    ),
    case("cub_device_radix_sort", DEVICE, (ints(700, -50, 50).float(),), _sorted_by_device),
    case("cub_load_and_store", EXCHANGE, (ints(256),), _exchanged),
    case("cub_load_and_store_transposed", EXCHANGE, (ints(256),), _exchanged),
)
