"""kernels/hopper.cu. Small whole numbers leave a tensor core nothing to round."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import Case, ints

case = partial(Case, "hopper", needs=(9, 0))

OTHERS = "`mbarrier`, `cp.async.bulk`, `elect`, named barriers, `wgmma` without swizzling"


def _product(start: int, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    found = a.double().view(64, -1) @ b.double().view(16, -1).t() + start
    return found.int() if a.dtype == torch.int8 else found.float()


def _float8(start: int, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _product(start, a.view(torch.float8_e5m2).float(), b.view(torch.float8_e4m3fn).float())


def _warp_float8(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    left, right = (one.view(torch.float8_e4m3fn).double().view(-1, 32) for one in (a, b))
    return ((left @ right.t()).view(-1) + torch.tensor([1.0, 2.0, 3.0, 4.0]).repeat(32)).float()


_with_ones, _alone = partial(_product, 1), lambda a, b: _product(0, a.view(torch.half), b)

CASES = (
    case("hopper_ring", OTHERS, (ints(64 * 7),), lambda x: x + torch.arange(64, dtype=torch.int32).repeat(7)),
    case("hopper_named_barriers", OTHERS, (ints(32 * 5),), lambda x: x.view(-1, 32).flip(1).view(-1)),
    case("hopper_product_tf32", OTHERS, (ints(64 * 8, -9, 9) / 8, ints(16 * 8, -9, 9, 1) / 4), _with_ones),
    case("hopper_product_half", OTHERS, (ints(64 * 16, -8, 8).half(), ints(16 * 16, -8, 8, 1).half()), _with_ones),
    case(
        "hopper_product_bytes",
        OTHERS,
        (ints(64 * 32, -128, 128).to(torch.int8), ints(16 * 32, -128, 128, 1).to(torch.int8)),
        _with_ones,
    ),
    case(
        "hopper_product_float8",
        OTHERS,
        (
            ints(64 * 32, -8, 8).to(torch.float8_e5m2).view(torch.int8),
            ints(16 * 32, -8, 8, 1).to(torch.float8_e4m3fn).view(torch.int8),
        ),
        partial(_float8, 1),
    ),
    case(
        "hopper_warp_float8",
        OTHERS,
        (
            (ints(16 * 32, -15, 15) / 512).to(torch.float8_e4m3fn).view(torch.int32),
            ints(8 * 32, -8, 8, 1).to(torch.float8_e4m3fn).view(torch.int32),
        ),
        _warp_float8,
    ),
    case(
        "hopper_product_of_registers",
        OTHERS,
        (ints(64 * 16, -8, 8).half().view(torch.int32), ints(16 * 16, -8, 8, 1).half()),
        _alone,
    ),
)
