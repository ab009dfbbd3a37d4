"""kernels/groups.cu."""

from __future__ import annotations

from functools import partial, reduce

import torch

from tests.conformance.case import ORDER, Case, floats, ints

case = partial(Case, "groups")


def _block() -> torch.Tensor:
    kept = torch.arange(64) % 16 * 2
    rows = [kept.flip(0) + block + 4000 for block in range(2)]
    return torch.cat(rows).int()


def _tiles(x: torch.Tensor) -> torch.Tensor:
    i = torch.arange(64)
    rank, tile = i % 8, x.view(8, 8).long()

    def ballots(flags: torch.Tensor) -> torch.Tensor:
        return (flags.long() << torch.arange(8)).sum(-1)

    odd = tile % 2
    same = torch.where(odd == 1, ballots(odd == 1).unsqueeze(1), ballots(odd == 0).unsqueeze(1))
    rows = [
        x.view(2, 32).sum(1).repeat_interleave(32),
        tile.sum(1).repeat_interleave(8),
        i // 8 % 4 * 100 + 4 * 10 + rank,
        x[i ^ 3],
        torch.where(rank >= 2, x[(i - 2) % 64], x),
        ballots(odd == 1).repeat_interleave(8),
        (tile > 95).any(1).long().repeat_interleave(8) * 2 + 1,
        same.reshape(-1),
        i // 32 * 100 + i % 32,
    ]
    return torch.cat(rows).int()


def _reductions(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    tile = x.view(4, 16)
    bits = torch.tensor([reduce(lambda a, b: a ^ b, row) for row in tile.tolist()])
    each = [tile.sum(1), tile.min(1).values, tile.max(1).values, bits]
    scan = tile.cumsum(1)
    rows = [row.repeat_interleave(16) for row in each] + [scan.reshape(-1), (scan - tile).reshape(-1)]
    return torch.cat(rows).int(), y.view(4, 16).double().sum(1).float().repeat_interleave(16)


def _copies(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x.flip(0), x[1:6].flip(0), x.view(torch.int8)[1:8].flip(0).int()])


def _coalesced(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    chosen = x > 50
    place = chosen.long().cumsum(0) - 1
    kept = torch.zeros(32, dtype=torch.int32)
    kept[: int(chosen.sum())] = x[chosen]
    return chosen.sum(0, keepdim=True).int(), kept, torch.where(chosen, place, -1).int()


def _partitions(x: torch.Tensor) -> torch.Tensor:
    def places(labels: torch.Tensor) -> torch.Tensor:
        return torch.stack([(labels == v).sum() * 100 + (labels[:i] == v).sum() for i, v in enumerate(labels)])

    sums = torch.stack([x[x % 3 == v % 3].sum() for v in x])
    return torch.cat([places(x % 2), places(x % 3), sums]).int()


CASES = (
    case("group_of_block", "`this_thread_block`", (), _block),
    case(
        "group_tiles",
        "`tiled_partition` with shuffles, votes and matches",
        (ints(64),),
        _tiles,
    ),
    case(
        "group_reductions",
        "`cg::reduce`, `inclusive_scan`, `exclusive_scan`",
        (ints(64), floats(64)),
        _reductions,
        ORDER,
    ),
    case("coalesced_group", "`coalesced_threads`", (ints(32),), _coalesced),
    case("group_partitions", "`binary_partition`, `labeled_partition`", (ints(32),), _partitions),
    case(
        "generic_group",
        "`tiled_partition` with shuffles, votes and matches",
        (ints(64),),
        lambda x: torch.cat([x.sum(0, keepdim=True), x.view(4, 16).sum(1)]).int(),
    ),
    case(
        "group_calls",
        "`invoke_one`, `this_thread`",
        (ints(64),),
        lambda x: torch.cat([x + torch.arange(64) // 16 * 10 + 1, torch.tensor([4])]).int(),
    ),
    case("group_copies", "`cg::memcpy_async`", (ints(40, 0, 1 << 30),), _copies),
    case("grid_rank", "ranks and sizes of `this_grid()`", (), lambda: 64 * 1000 + torch.arange(64)),
)
