"""kernels/integers.cu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from tests.conformance.case import Case, ints, words
from tests.conformance.oracle import fields, int32, packed, signed_fields, unsigned

case = partial(Case, "integers")

MASK64 = 2**64 - 1


def _each(function: Callable[..., int], *operands: torch.Tensor) -> torch.Tensor:
    """Python's integers have as many bits as they need."""
    return torch.tensor([function(*values) for values in zip(*(t.tolist() for t in operands), strict=True)])


def _reversed(x: int, bits: int) -> int:
    return int(f"{x:0{bits}b}"[::-1], 2)


def _lowest(x: int) -> int:
    return (x & -x).bit_length()


def _bytes(low: int, high: int, selector: int) -> int:
    both = low | high << 32
    return sum((both >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i for i in range(4))


def _bits(x: torch.Tensor) -> torch.Tensor:
    u = unsigned(x)
    wide = [value * 0x9E3779B97F4A7C15 & MASK64 for value in u.tolist()]

    def each_wide(function: Callable[[int], int]) -> torch.Tensor:
        return torch.tensor([function(value) for value in wide])

    rows = [
        _each(lambda v: bin(v).count("1"), u),
        _each(lambda v: 32 - v.bit_length(), u),
        _each(_lowest, u),
        _each(lambda v: _reversed(v, 32), u),
        each_wide(lambda v: bin(v).count("1")),
        each_wide(lambda v: 64 - (v >> 7).bit_length()),
        each_wide(lambda v: _lowest(v << 3 & MASK64)),
        each_wide(lambda v: _reversed(v, 64) >> 32),
        _each(lambda v: _bytes(v, ~v & 0xFFFFFFFF, 0x4162), u),
        _each(lambda v: ((~v & 0xFFFFFFFF) << 32 | v) << 13 >> 32 & 0xFFFFFFFF, u),
        _each(lambda v: ((~v & 0xFFFFFFFF) << 32 | v) >> 5 & 0xFFFFFFFF, u),
        u,
    ]
    return int32(torch.cat(rows))


def _products(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x, y, ux, uy = a.long(), b.long(), unsigned(a), unsigned(b)

    def low24(v: int) -> int:
        return ((v & 0xFFFFFF) ^ 0x800000) - 0x800000

    rows = [
        x * y >> 32,
        _each(lambda v, w: v * w >> 32, ux, uy),
        _each(lambda v, w: low24(v) * low24(w), a, b),
        _each(lambda v, w: (v & 0xFFFFFF) * (w & 0xFFFFFF), ux, uy),
        _each(lambda v, w: (v << 20) * (w << 20) >> 64, a, b),
        (x + y) >> 1,
        (x + y + 1) >> 1,
        (ux + uy) >> 1,
        (x - y).abs() + 5,
        (ux - uy).abs() + 5,
        x.abs(),
        torch.maximum(x, y) - x.clamp(max=7),
        ux.clamp(min=3),
    ]
    return int32(torch.cat(rows))


def _dots(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    signed_bytes = signed_fields(b, 8)
    shorts = signed_fields(a, 16)
    rows = [
        (signed_fields(a, 8) * signed_bytes).sum(1),
        (fields(a, 8) * fields(b, 8)).sum(1),
        (shorts * signed_bytes[:, :2]).sum(1),
        (shorts * signed_bytes[:, 2:]).sum(1),
    ]
    return int32(torch.cat(rows) + 100)


def _packed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    u, v, s, t = fields(a, 8), fields(b, 8), signed_fields(a, 8), signed_fields(b, 8)
    u2, v2, s2, t2 = fields(a, 16), fields(b, 16), signed_fields(a, 16), signed_fields(b, 16)
    rows = [
        packed(u + v, 8),
        packed(u2 - v2, 16),
        packed((u + v).clamp(max=255), 8),
        packed((s2 - t2).clamp(-(2**15), 2**15 - 1), 16),
        packed(torch.maximum(s, t), 8),
        packed(torch.minimum(u2, v2), 16),
        packed((u - v).abs(), 8),
        packed((u > v).long() * 255, 8),
        packed(((u & 15) == (v & 15)).long(), 8),
        (u - v).abs().sum(1),
        packed((u + v + 1) >> 1, 8),
        packed(s.abs(), 8),
    ]
    return int32(torch.cat(rows))


def _plain(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x, y, divisor, shift = a.long(), b.long(), b.long() | 1, b.long() & 31
    quotient = torch.div(x, divisor, rounding_mode="trunc")
    rows = [x * y, quotient, x - quotient * divisor, x >> shift, unsigned(a) >> shift, x + 0x7FFFFFFF]
    return int32(torch.cat(rows))


CASES = (
    case(
        "bit_operations",
        "`__popc`, `__clz`, `__ffs`, `__brev`, `__byte_perm`, `__funnelshift_l/r/lc`",
        (words(64),),
        _bits,
    ),
    case(
        "integer_products",
        "`__mulhi`, `__mul24`, `__hadd`, `__sad` and their family",
        (ints(64, -(2**30), 2**30, 1), ints(64, -(2**30), 2**30, 2)),
        _products,
    ),
    case("byte_dot_products", "`__dp4a`, `__dp2a_lo/hi`", (words(64, 1), words(64, 2)), _dots),
    case(
        "packed_integers",
        "`__vadd4`, `__vcmpgtu4` and their family",
        (words(64, 3), words(64, 4)),
        _packed,
    ),
    case(
        "plain_integers",
        "signed overflow wraps, shifts keep the sign",
        (words(64, 5), ints(64, -1000, 1000, 6)),
        _plain,
    ),
)
