"""kernels/ptx.cu. Small whole numbers leave a tensor core nothing to round."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import EXACT, FAST, Case, Tolerance, floats, ints

case = partial(Case, "ptx")
TANH = Tolerance("tanh.approx", 1e-3, 1e-6, "an approximation within 2^-11")


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


def _floats(x: torch.Tensor) -> torch.Tensor:
    wide = x.double()
    return torch.stack([wide.exp2(), 1 / wide, wide * wide + 1, wide.clamp(min=0)]).float()


def _narrowed(xy: torch.Tensor) -> torch.Tensor:
    upper, lower = xy.view(2, 32)
    pairs = (torch.stack([lower, upper], 1).to(dtype).view(torch.int32).view(32) for dtype in _HALVES)
    return torch.stack(list(pairs))


_HALVES = (torch.bfloat16, torch.float16)

CASES = (
    case(
        "ptx_product_half",
        "`mma.sync` m16n8k16 and m16n8k8 on f16, bf16, tf32, s8 and u8; `ldmatrix`, `stmatrix`",
        (ints(256, -8, 8).half(), ints(128, -8, 8, 1).half()),
        _product,
    ),
    case(
        "ptx_product_bfloat16",
        "`mma.sync` m16n8k16 and m16n8k8 on f16, bf16, tf32, s8 and u8; `ldmatrix`, `stmatrix`",
        (ints(256, -8, 8).bfloat16(), ints(128, -8, 8, 1).bfloat16()),
        _product,
    ),
    case(
        "ptx_product_half_sums",
        "`mma.sync` m16n8k16 and m16n8k8 on f16, bf16, tf32, s8 and u8; `ldmatrix`, `stmatrix`",
        (ints(256, -4, 4).half(), ints(128, -4, 4, 1).half(), ints(128, -9, 9, 2).half()),
        _half_sums,
    ),
    case(
        "ptx_product_tf32",
        "`mma.sync` m16n8k16 and m16n8k8 on f16, bf16, tf32, s8 and u8; `ldmatrix`, `stmatrix`",
        (ints(128, -9, 9) / 8, ints(64, -9, 9, 1) / 4),
        _tf32,
    ),
    case(
        "ptx_product_bytes",
        "`mma.sync` m16n8k16 and m16n8k8 on f16, bf16, tf32, s8 and u8; `ldmatrix`, `stmatrix`",
        (
            ints(512, -128, 128).to(torch.int8).view(torch.int32),
            ints(256, -128, 128, 1).to(torch.int8).view(torch.int32),
        ),
        _bytes,
    ),
    case(
        "ptx_stores_matrix",
        "`mma.sync` m16n8k16 and m16n8k8 on f16, bf16, tf32, s8 and u8; `ldmatrix`, `stmatrix`",
        (ints(64, 0, 1000).short(),),
        lambda x: x.view(8, 8).t().reshape(64),
        needs=None,
    ),
    case("ptx_copies", "`cp.async`, which ends where it is waited for", (ints(8, 1, 99),), _copies),
    case("ptx_memory", "`ld`, `st`, `atom`, `red`, `cvta`, hints for caches", (ints(128, 0, 99),), _memory),
    case(
        "ptx_arithmetic",
        "arithmetic, predicates, `lop3`, `prmt`, `mov`, `cvt`",
        (ints(64, 0, 1 << 30),),
        _arithmetic,
        EXACT,
    ),
    case("ptx_narrowed", "arithmetic, predicates, `lop3`, `prmt`, `mov`, `cvt`", (floats(64),), _narrowed),
    case("ptx_floats", "`ex2`, `rcp` and other approximations", (floats(32).abs() + 0.5,), _floats, FAST),
    case("ptx_tanh", "`tanh.approx`", (floats(32),), torch.tanh, TANH),
)
