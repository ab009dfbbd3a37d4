"""kernels/warps.cu."""

from __future__ import annotations

from functools import partial, reduce

import torch

from tests.conformance.case import ORDER, Case, floats, ints
from tests.conformance.oracle import int32, unsigned

case = partial(Case, "warps")

LANES = torch.arange(32)


def _block_votes(x: torch.Tensor) -> torch.Tensor:
    return torch.full((200,), int((x > 50).sum()) * 100 + 10 + 1, dtype=torch.int32)


def _shuffles(x: torch.Tensor) -> torch.Tensor:
    warps = x.view(2, 32)

    def read(source: torch.Tensor, is_read: torch.Tensor | None = None) -> torch.Tensor:
        kept = source if is_read is None else torch.where(is_read, source, LANES)
        return warps[:, kept].reshape(-1)

    eighth, quarter = LANES // 8 * 8, LANES // 4 * 4
    rows = [
        read(torch.full((32,), 5)),
        read(eighth + (LANES + 3) % 8),
        read(LANES - 3, LANES >= 3),
        read(LANES - 2, LANES % 16 >= 2),
        read(LANES + 4, LANES < 28),
        read(LANES + 1, LANES % 4 < 3),
        read(LANES ^ 17),
        read(LANES ^ 6, quarter + 4 > (LANES ^ 6)),
    ]
    return torch.cat(rows)


def _shuffle_types(x: torch.Tensor) -> torch.Tensor:
    return sum((x[LANES ^ 2**i] for i in range(5)), x[3].expand(32))


def _ballot(flags: torch.Tensor) -> int:
    return int((flags.long() << LANES[: len(flags)]).sum())


def _votes(x: torch.Tensor) -> torch.Tensor:
    even = torch.full((32,), _ballot(x % 2 == 0))
    low, high = _ballot(x[:16] > 50), _ballot(x[16:] > 50) << 16
    halves = torch.tensor([low] * 16 + [high] * 16)
    return int32(torch.cat([even, torch.full((32,), int((x > 95).any())), torch.ones(32).long(), halves]))


def _active() -> torch.Tensor:
    third = LANES % 3 == 0
    count = int(third.sum())
    branch = torch.where(third, torch.full((32,), count), torch.full((32,), _ballot(~third)))
    return int32(torch.cat([torch.full((32,), 2**32 - 1), branch]))


def _matches(x: torch.Tensor) -> torch.Tensor:
    groups = torch.tensor([_ballot(x % 3 == value % 3) for value in x.tolist()])
    all_same = torch.full((32,), 2**32)  # the full mask, plus 1 for the predicate
    return int32(torch.cat([groups, all_same, torch.zeros(32).long()]))


def _reductions(x: torch.Tensor) -> torch.Tensor:
    values = x.long() - 50
    bits = [int(value) for value in unsigned(values)]
    rows = [
        int(values.sum()),
        int(values.min()),
        int(values.max()),
        max(bits),
        reduce(lambda a, b: a & b, bits),
        reduce(lambda a, b: a | b, bits),
        reduce(lambda a, b: a ^ b, bits),
    ]
    part = torch.where(LANES < 8, values[:8].sum(), 0)
    return int32(torch.cat([torch.tensor(rows).repeat_interleave(32), part]))


CASES = (
    case("block_votes", "`__syncthreads_count/and/or`", (ints(200),), _block_votes),
    case("shuffles", "`__shfl_sync/up/down/xor` of 8 to 64 bits, with widths", (ints(64),), _shuffles),
    case(
        "shuffle_types", "`__shfl_sync/up/down/xor` of 8 to 64 bits, with widths", (ints(32).double(),), _shuffle_types
    ),
    case(
        "block_reduction",
        "a block's sum by shuffles",
        (floats(1024),),
        lambda x: x.view(4, 256).double().sum(1).float(),
        ORDER,
    ),
    case("votes", "`__ballot_sync`, `__any_sync`, `__all_sync`", (ints(32),), _votes),
    case("active_mask", "`__activemask`", (), _active),
    case("matches", "`__match_any_sync`, `__match_all_sync`", (ints(32),), _matches),
    case("warp_reductions", "`__reduce_add/min/max/and/or/xor_sync`", (ints(32),), _reductions),
    case(
        "warp_barrier",
        "`__syncwarp`, `__threadfence_block`",
        (),
        lambda: ((63 - torch.arange(64)) ^ 1).int() * 2,
    ),
    case(
        "last_block",
        "`__threadfence`, `volatile`",
        (ints(512),),
        lambda x: x.sum(0, keepdim=True).int(),
    ),
)
