"""kernels/ptx.cu. Small whole numbers leave a tensor core nothing to round."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import FAST, HALF_FAST, Case, floats, ints, words

case = partial(Case, "ptx")


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double().view(16, 16) @ b.double().view(16, 8) + 1).float()


def _half_sums(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    return (a.double().view(16, 16) @ b.double().view(8, 16).t() + c.double().view(16, 8)).half()


def _tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double().view(16, 8) @ b.double().view(8, 8)).float()


def _bytes(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    left, right = (one.view(torch.int8).view(-1, 32).double() for one in (a, b))
    return (left @ right.t()).int()


def _copies(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[:6], torch.zeros(2, dtype=torch.int32)])


def _memory(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x, torch.tensor([32, 31], dtype=torch.int32)


def _arithmetic(xy: torch.Tensor) -> torch.Tensor:
    x, y = xy.long().view(2, 32)
    lanes = torch.arange(32)
    chosen = (x & y) | (~x & 0x0F0F0F0F)
    shifted = torch.where(lanes + 8 < 32, x << (lanes + 8).clamp(max=31), 0)
    counted = torch.where(lanes == 3, 1, 9)
    rows = [chosen, y << 16 | x & 0xFFFF, torch.minimum(x, y), 3 * x + y, shifted, counted, torch.minimum(x, y), x ^ y]
    return torch.stack(rows).bitwise_and(0xFFFFFFFF).to(torch.uint32).view(torch.int32)


def _doubles(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.view(8, 4) @ b.view(8, 4).t() + torch.tensor([1.0, 2.0]).repeat(4)


def _largest(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([torch.where(x.isnan(), 0.25, x.clamp(min=0.25)), x.clamp(min=0.25)])


def _compared(x: torch.Tensor) -> torch.Tensor:
    signs = x.view(torch.uint8).view(32, 4).long() >> 7
    lowest = x.view(torch.int32).long() & 0xFF
    permuted = signs[:, 0] * 0xFF + (signs[:, 2] * 0xFF << 8) + (lowest << 16) + (signs[:, 0] * 0xFF << 24)
    rows = [(~x.isnan() & (x != 0.5)).int(), (x <= 0.5).int(), permuted.to(torch.uint32).view(torch.int32)]
    return torch.stack(rows)


def _signed(x: torch.Tensor) -> torch.Tensor:
    wide = x.long()
    rows = [wide >> torch.arange(8, 40).clamp(max=31), (wide & 0xFFFFFFFF) >> 4, wide.clamp(min=-5), wide * wide + wide]
    rows += [-(wide < 0).long(), wide.clamp(min=-1)]
    return torch.stack(rows).bitwise_and(0xFFFFFFFF).to(torch.uint32).view(torch.int32)


def _floats(x: torch.Tensor) -> torch.Tensor:
    wide = x.double()
    return torch.stack([wide.exp2(), 1 / wide, wide * wide + 1, wide.clamp(min=0)]).float()


def _narrowed(xy: torch.Tensor) -> torch.Tensor:
    upper, lower = xy.view(2, 32)
    pairs = (torch.stack([lower, upper], 1).to(dtype).view(torch.int32).view(32) for dtype in _HALVES)
    return torch.stack(list(pairs))


_HALVES = (torch.bfloat16, torch.float16)


def _wide(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a, b = (one.long() & 0xFFFFFFFF for one in (x, y))
    product = [int(one) * int(other) for one, other in zip(a, b, strict=True)]
    signed = x.long() * y.long()
    bits = [f"{int(one):032b}" for one in a]
    rows = [
        [one >> 32 for one in product],
        (signed >> 32).tolist(),
        [one >> 16 for one in product],
        (signed >> 32).tolist(),
        [one + (1 << 40) >> 32 for one in product],
        [one.count("1") for one in bits],
        [len(one) - len(one.lstrip("0")) for one in bits],
        [int(one[::-1], 2) for one in bits],
        (~a).tolist(),
        [(int(high) << 32 | int(low)) + 1 >> 32 for low, high in zip(a, b, strict=True)],
    ]
    return torch.tensor([one & 0xFFFFFFFF for row in rows for one in row]).to(torch.uint32).view(torch.int32)


def _of_halves(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a, b = (one.view(torch.half).double() for one in (x, y))
    product, fused, difference = (one.half().view(torch.int32) for one in (a * b, a * b + b, a - b))
    return torch.cat([product, fused, difference & 0xFFFF])


def _halves(seed: int) -> torch.Tensor:
    return (ints(64, -99, 99, seed) / 8).half().view(torch.int32)


CASES = (
    case(
        "ptx_product_half",
        "`mma.sync`, `ldmatrix`, `stmatrix`",
        (ints(256, -8, 8).half(), ints(128, -8, 8, 1).half()),
        _product,
    ),
    case(
        "ptx_product_bfloat16",
        "`mma.sync`, `ldmatrix`, `stmatrix`",
        (ints(256, -8, 8).bfloat16(), ints(128, -8, 8, 1).bfloat16()),
        _product,
    ),
    case(
        "ptx_product_half_sums",
        "`mma.sync`, `ldmatrix`, `stmatrix`",
        (ints(256, -4, 4).half(), ints(128, -4, 4, 1).half(), ints(128, -9, 9, 2).half()),
        _half_sums,
    ),
    case(
        "ptx_product_tf32",
        "`mma.sync`, `ldmatrix`, `stmatrix`",
        (ints(128, -9, 9) / 8, ints(64, -9, 9, 1) / 4),
        _tf32,
    ),
    case(
        "ptx_product_bytes",
        "`mma.sync`, `ldmatrix`, `stmatrix`",
        (
            ints(512, -128, 128).to(torch.int8).view(torch.int32),
            ints(256, -128, 128, 1).to(torch.int8).view(torch.int32),
        ),
        _bytes,
    ),
    case(
        "ptx_stores_matrix",
        "`mma.sync`, `ldmatrix`, `stmatrix`",
        (ints(64, 0, 1000).short(),),
        lambda x: x.view(8, 8).t().reshape(64),
        needs=None,
    ),
    case("ptx_copies", "`cp.async`", (ints(8, 1, 99),), _copies),
    case("pipeline_copies", "`__pipeline_memcpy_async`", (ints(8, 1, 99),), _copies),
    case("ptx_memory", "`ld`, `st`, `atom`, `red`, `cvta`", (ints(128, 0, 99),), _memory),
    case(
        "ptx_arithmetic",
        "arithmetic, `setp`, `cvt`, `lop3`",
        (ints(64, 0, 1 << 30),),
        _arithmetic,
    ),
    case("ptx_product_doubles", "`mma.sync`, `ldmatrix`, `stmatrix`", (ints(32).double(), ints(32).double()), _doubles),
    case(
        "ptx_largest",
        "arithmetic, `setp`, `cvt`, `lop3`",
        (torch.cat([floats(31), torch.tensor([torch.nan])]),),
        _largest,
    ),
    case(
        "ptx_compared",
        "arithmetic, `setp`, `cvt`, `lop3`",
        (torch.cat([floats(30), torch.tensor([0.5, torch.nan])]),),
        _compared,
    ),
    case("ptx_signed", "arithmetic, `setp`, `cvt`, `lop3`", (words(32),), _signed),
    case("ptx_narrowed", "arithmetic, `setp`, `cvt`, `lop3`", (floats(64),), _narrowed),
    case("ptx_floats", "`ex2`, `rcp`", (floats(32).abs() + 0.5,), _floats, FAST),
    case("ptx_wide", "arithmetic, `setp`, `cvt`, `lop3`", (words(32), words(32, 1)), _wide),
    case("ptx_halves", "arithmetic, `setp`, `cvt`, `lop3`", (_halves(0), _halves(1)), _of_halves),
    case("ptx_negative", "arithmetic, `setp`, `cvt`, `lop3`", (floats(32),), lambda x: -x.abs()),
    case("ptx_tanh", "`tanh.approx`", (floats(32),), torch.tanh, HALF_FAST),
)
