"""kernels/atomics.cu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

import torch

from tests.conformance.case import HALF_ORDER, ORDER, Case, floats, ints

case = partial(Case, "atomics")

WIDE = ints(100, 0, 2**31 - 1, 4).long() * ints(100, 0, 2**31 - 1, 5).long()


def _sum(width: int, dtype: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: x.view(-1, width).double().sum(0).to(dtype)


def _bitwise(values: torch.Tensor, wide: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    def row(numbers: list[int]) -> list[int]:
        return [
            max(0, *numbers),
            min(0, *numbers),
            0,
            reduce(lambda a, b: a | b, numbers),
            reduce(lambda a, b: a ^ b, numbers),
        ]

    return torch.tensor(row(values.tolist()), dtype=torch.int32), torch.tensor(row(wide.tolist()))


def _counters() -> torch.Tensor:
    decremented = 0
    for _ in range(32):
        decremented = 6 if decremented == 0 or decremented > 6 else decremented - 1
    return torch.tensor([32 % 10, decremented, -96, -64, 0, 123], dtype=torch.int32)


def _exchanged() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([2.5, 0.0]), torch.tensor([1 << 40, 0])


def _scopes() -> torch.Tensor:
    return torch.tensor([3 * 128, 63, 2**31 - 1, 77], dtype=torch.int32)


def _histogram(x: torch.Tensor) -> torch.Tensor:
    return torch.bincount(x.long() >> 4, minlength=16).int()


CASES = (
    case("atomic_add_int", "`atomicAdd` on `int`", (ints(1000, -50, 50),), lambda x: x.sum(0, keepdim=True).int()),
    case(
        "atomic_add_unsigned_long_long",
        "`atomicAdd` on `unsigned long long`",
        (ints(1000).long() << 36,),
        lambda x: x.sum(0, keepdim=True),
    ),
    case("atomic_add_float", "`atomicAdd` on `float`", (floats(1000, 0, 1),), _sum(1, torch.float32), ORDER),
    case("atomic_add_double", "`atomicAdd` on `double`", (floats(1000).double(),), _sum(1, torch.float64), ORDER),
    case("atomic_add_half", "`atomicAdd` on `__half`", (floats(100, 0, 1).half(),), _sum(1, torch.float16), HALF_ORDER),
    case(
        "atomic_add_bfloat16",
        "`atomicAdd` on `__nv_bfloat16`",
        (ints(64, 0, 4).bfloat16(),),
        _sum(1, torch.bfloat16),
    ),
    case("atomic_add_half2", "`atomicAdd` on `__half2`", (ints(64, 0, 9).half(),), _sum(2, torch.float16)),
    case(
        "atomic_add_bfloat162", "`atomicAdd` on `__nv_bfloat162`", (ints(64, 0, 4).bfloat16(),), _sum(2, torch.bfloat16)
    ),
    case("atomic_add_float2", "`atomicAdd` on `float2`", (ints(64).float(),), _sum(2, torch.float32)),
    case("atomic_add_float4", "`atomicAdd` on `float4`", (ints(64).float(),), _sum(4, torch.float32)),
    case("atomic_extremes_and_bits", "`atomicMax/Min/And/Or/Xor` on 32 and 64 bits", (ints(100, -99), WIDE), _bitwise),
    case(
        "atomic_signed_extremes",
        "`atomicMax/Min/And/Or/Xor` on 32 and 64 bits",
        (WIDE - 2**60,),
        lambda x: torch.stack([x.max().clamp(min=0), x.min().clamp(max=0)]),
    ),
    case("atomic_counters", "`atomicInc`, `atomicDec`, `atomicSub`", (), _counters),
    case("atomic_exchange", "`atomicExch` on 32 and 64 bits", (), _exchanged),
    case(
        "atomic_compare_and_swap",
        "`atomicCAS` on 16, 32 and 64 bits",
        (floats(1000, 0, 9),),
        lambda x: x.max().view(1),
    ),
    case(
        "atomic_swap_widths",
        "`atomicCAS` on 16, 32 and 64 bits",
        (),
        lambda: (torch.tensor([96], dtype=torch.int16), torch.tensor([2**32 - 1])),
    ),
    case(
        "atomic_swaps_of_16_bytes",
        "`atomicCAS` and `atomicExch` on structures of 16 bytes",
        (),
        lambda: (torch.tensor([2 * 496, 64]), torch.tensor([1, 2, 3, 4, 0, 0, 0, 0], dtype=torch.int32)),
        needs=(9, 0),
    ),
    case("atomic_scopes", "`_block` and `_system` forms, atomics in shared memory", (), _scopes),
    case(
        "shared_histogram",
        "`_block` and `_system` forms, atomics in shared memory",
        (ints(2000, 0, 256).to(torch.uint8),),
        _histogram,
    ),
    case("spin_lock", "locks between blocks", (), lambda: torch.tensor([20], dtype=torch.int32)),
)
