"""kernels/floats.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import DOUBLE_LIBRARY, FAST, FUSED, LIBRARY, Case, floats, ints, words
from tests.conformance.oracle import ROUNDINGS, int32, rounded

case = partial(Case, "floats")

NAN, INFINITY = float("nan"), float("inf")
SPECIAL = torch.tensor([NAN, 1.0, -0.0, 0.0, INFINITY, -INFINITY, 2.5, -2.5, 0.25, 1.5, -0.75, 3.0])
OTHER = torch.tensor([1.0, NAN, 0.5, -1.0, 2.0, -3.0, -0.0, 4.0, 0.25, -1.5, 0.0, NAN])
# Exactly representable in float and beyond the range of 32-bit integers; ties; NaN.
NUMBERS = torch.tensor([0.5, 1.5, -2.5, 2.75, -2.75, 3e9, -3e9, 1e20, NAN, INFINITY, -INFINITY, 8388609.0, 0.0, -0.5])


def _single(x: torch.Tensor) -> torch.Tensor:
    d = x.double()
    rows = [
        d.exp(), d.log(), d.log1p(), d.exp2(), d.sin(), d.cos(), d.tanh(), d.erf(), d.erfc(), d.pow(1.7), d.rsqrt(),
        d.pow(1 / 3), d.sqrt(), torch.special.ndtr(d), (d * torch.pi).sin(), (d * torch.pi).cos(),
        torch.pow(10.0, d), torch.atan2(d, torch.tensor(2.0).double()), torch.hypot(d, torch.tensor(3.0).double()),
        d.lgamma(), d.expm1(), d.asinh(),
    ]  # fmt: skip
    return torch.cat(rows).float()


def _inverse(x: torch.Tensor) -> torch.Tensor:
    d = x.double()
    rows = [d.erfinv(), torch.special.ndtri((x * 0.5 + 0.5).double()), -d.erfinv(), torch.special.erfcx(d)]
    return torch.cat(rows).float()


def _double(d: torch.Tensor) -> torch.Tensor:
    rows = [d.exp(), d.log(), d.pow(1.7), d.rsqrt(), d.erf(), torch.special.ndtr(d), d.tanh(), d.sin(), d.fmod(0.7)]
    return torch.cat(rows)


def _fast(x: torch.Tensor) -> torch.Tensor:
    d = x.double()
    rows = [
        d.exp(), d.log(), d.log2(), d.log10(), d.sin(), d.cos(), d.pow(1.7), d / 3, d.tan(), torch.pow(10.0, d),
        d.sin(), d.cos(),
    ]  # fmt: skip
    return torch.cat(rows).float()


def _special(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    larger, smaller = torch.fmax(x, y), torch.fmin(x, y)
    rows = [
        *(larger, smaller, larger, smaller),
        x.nan_to_num(0.0).clamp(0, 1) + 0.0,
        x.abs(),
        torch.copysign(torch.full_like(x, 2.0), y),
        x.isnan().float() + 2 * x.isinf() + 4 * (x == INFINITY),
        *(x.round(), x.trunc(), x.floor() + x.ceil()),
        torch.where(x.isnan(), INFINITY, (x - 1).clamp(min=0.0)),
    ]
    return torch.cat(rows)


def _rounding(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x, y = a.double(), b.double()

    def each(value: torch.Tensor, *modes: str) -> list[torch.Tensor]:
        return [rounded(value, torch.float32, mode) for mode in ROUNDINGS if mode in modes or not modes]

    rows = [*each(x + y), *each(x - y), *each(x * y), *each(x / y), *each(x * y + 1)]
    rows += [*each(y.sqrt(), "rz"), *each(y.sqrt(), "ru"), *each(1 / x, "rn"), *each(1 / x, "rd")]
    return torch.cat(rows)


def _unfused(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    separate, product = a * b + c, a.double() * b.double()
    rows = [separate, separate, a * b - c, (product + c.double()).float(), (product + c.double()).float()]
    return torch.cat(rows)


def _to_integers(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    d = x.double().nan_to_num(0.0, 1e30, -1e30)
    count = len(x)

    def whole(value: torch.Tensor) -> torch.Tensor:
        return value.clamp(-(2**31), 2**31 - 1).long()

    rows = [whole(d.round()), whole(d.trunc()), whole(d.floor()), whole(d.ceil())]
    rows += [d.round().clamp(0, 2**32 - 1).long(), torch.where(x.isnan(), -(2**31), whole((d + 0.5).round()))]
    limit = torch.where(d > 0, 2**63 - 1, -(2**63))
    signed = torch.where(d.abs() < 2.0**63, d.clamp(-9e18, 9e18).trunc().long(), limit)
    signed = torch.where(x.isnan(), torch.full((count,), -(2**63)), signed)
    # 1e20 and infinity become 2^64 - 1, which is -1 when read as signed.
    natural = torch.where(d >= 2.0**64, torch.full((count,), -1), d.clamp(0, 9e18).round().long())
    natural = torch.where(x.isnan(), torch.full((count,), -(2**63)), natural)
    return int32(torch.cat(rows)), torch.cat([signed, natural])


def _to_floats(x: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
    d, i = x.double(), torch.arange(64)
    rows = [rounded(d, torch.float32, mode) for mode in ROUNDINGS]
    rows += [rounded(wide.double(), torch.float32), rounded(wide.double(), torch.float32, "rz")]
    rows.append(rounded(1.0 / (x | 1).double(), torch.float32, "ru"))
    rows.append((i.float().view(torch.int32) + 1).view(torch.float32))
    rows.append((i.double() * 0.1).float())
    return torch.cat(rows)


CASES = (
    case(
        "math_functions",
        "functions of `float` (`expf`, `erfinvf`, `lgammaf` …)",
        (floats(64, 0.1, 3.0),),
        _single,
        LIBRARY,
    ),
    case(
        "inverse_functions",
        "functions of `float` (`expf`, `erfinvf`, `lgammaf` …)",
        (floats(64, -0.9, 0.9),),
        _inverse,
        LIBRARY,
    ),
    case(
        "double_functions",
        "functions of `double`",
        (floats(64, 0.1, 3.0).double(),),
        _double,
        DOUBLE_LIBRARY,
    ),
    case(
        "fast_functions",
        "`__expf`, `__sinf`, `__fdividef` …",
        (floats(64, 0.6, 1.4),),
        _fast,
        FAST,
    ),
    case(
        "special_values",
        "NaN, infinities and −0 in `fmaxf`, `min`, `rintf` …",
        (SPECIAL, OTHER),
        _special,
    ),
    case(
        "rounding_modes",
        "`__fadd_rn/rz/rd/ru` and their family",
        (floats(64, 1.0, 2.0), floats(64, 1.0, 2.0, 1)),
        _rounding,
    ),
    case(
        "unfused_arithmetic",
        "`__fmul_rn` and `__fadd_rn`, never fused; `fmaf`, always fused",
        (floats(64, 1.0, 2.0), floats(64, 1.0, 2.0, 1), floats(64, -2.0, 2.0, 2)),
        _unfused,
    ),
    case(
        "contracted_arithmetic",
        "`a * b + c`",
        (floats(64, 1.0, 2.0), floats(64, 1.0, 2.0, 1), floats(64, 1.0, 2.0, 2)),
        lambda a, b, c: (a.double() * b.double() + c.double()).float(),
        FUSED,
    ),
    case(
        "conversions_to_integers",
        "`__float2int_rz`, `__int2float_rn`, `__int_as_float` and their family",
        (NUMBERS,),
        _to_integers,
    ),
    case(
        "conversions_to_floats",
        "`__float2int_rz`, `__int2float_rn`, `__int_as_float` and their family",
        (words(64), ints(64, 0, 2**31 - 1, 1).long() * 12345),
        _to_floats,
    ),
)
