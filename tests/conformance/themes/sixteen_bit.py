"""What kernels/sixteen_bit.h should give, for either format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch

from tests.conformance.case import Case, Tolerance, floats
from tests.conformance.oracle import ROUNDINGS, int32, rounded, unsigned


def cases(theme: str, prefix: str, dtype: torch.dtype, functions: Tolerance) -> Sequence[Case]:
    """`prefix` is `half` or `bfloat16`, as in the functions' names."""
    case = partial(Case, theme)
    a, b, c = (floats(64, -3, 3, seed).to(dtype) for seed in range(3))
    edges = a.clone()
    edges[:6] = torch.tensor([float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 1.0])
    other = torch.where(torch.arange(64) % 3 == 0, edges, b)
    other[0] = 1.0
    steps = floats(64, -60, 60, 3)
    steps[:8] = torch.tensor([0.5, 1.5, -0.5, -2.5, 0.0, -1.0, 7.0, 0.25])
    wide = torch.cat([floats(32, -70, 70, 4), floats(32, -1e-3, 1e-3, 5)])
    return (
        case(
            f"{prefix}_arithmetic",
            "`__hadd_rn`, `__hfma`, `__hfma_relu`, `__hmax` …",
            (a, b, c),
            partial(_arithmetic, dtype),
        ),
        case(
            f"{prefix}2_arithmetic",
            "`__hadd2`, `__hfma2`, `__shfl_xor_sync` … on pairs",
            (a, b, c),
            partial(_pairs, dtype),
        ),
        case(
            f"{prefix}_comparisons",
            "`__heq`, `__hltu`, `__hbeq2`, `__hlt2_mask` …",
            (edges, other),
            _comparisons,
        ),
        case(
            f"{prefix}_functions",
            "`hexp`, `hsin`, `hrsqrt`, `__hdiv` …",
            (floats(64, 0.5, 4, 6).to(dtype),),
            partial(_functions, dtype),
            functions,
        ),
        case(
            f"{prefix}_whole_parts",
            "`hfloor`, `hceil`, `htrunc`, `hrint`",
            (steps.to(dtype),),
            lambda x: torch.cat([x.float().floor(), x.float().ceil(), x.float().trunc(), x.float().round()]).to(dtype),
        ),
        case(
            f"{prefix}_from_float",
            f"`__float2{prefix}_rn/rz/rd/ru`, `__double2{prefix}`",
            (wide,),
            lambda x: torch.cat([rounded(x, dtype, mode) for mode in ("rn", *ROUNDINGS, "rn")]),
        ),
    )


def _arithmetic(dtype: torch.dtype, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    x, y, z = a.double(), b.double(), c.double()
    rows = [
        *(x + y, x - y, x * y, x * y + z),
        (x + y).clamp(0, 1),
        (x * y + z).clamp(0, 1),
        (x * y + z).clamp(min=0),
        *(-x, x.abs(), torch.maximum(x, y), torch.minimum(x, y)),
    ]
    return rounded(torch.cat(rows), dtype)


def _pairs(dtype: torch.dtype, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    x, y, z = a.double(), b.double(), c.double()
    swapped = x.view(-1, 2).flip(1).reshape(-1)
    neighbour = x.view(-1, 2)[torch.arange(32) ^ 1].reshape(-1)
    rows = [x + y, x * y, x * y + z, -x, torch.maximum(x, y), (x > y).double(), swapped, y, neighbour]
    return rounded(torch.cat(rows), dtype)


def _comparisons(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x, y = a.float(), b.float()
    unordered = x.isnan() | y.isnan()
    ordered = [x == y, (x != y) & ~unordered, x < y, x <= y, x > y, x >= y]
    loose = [flags | unordered for flags in ordered]
    mask = unsigned(torch.where(x < y, 0xFFFF, 0) | torch.where(y < x, 0xFFFF0000, 0))
    both_equal, both_less, both_unequal = ordered[0], ordered[3] & (y <= x), loose[1]
    last = _bits([both_equal, both_less, both_unequal])
    return int32(torch.cat([_bits(ordered), _bits([*loose, x.isnan()]), mask, last]))


def _bits(flags: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.stack([flag.long() << i for i, flag in enumerate(flags)]).sum(0)


def _functions(dtype: torch.dtype, values: torch.Tensor) -> torch.Tensor:
    x = values.double()
    functions: list[Callable[[torch.Tensor], torch.Tensor]] = [
        torch.sqrt, torch.rsqrt, torch.reciprocal, torch.exp, torch.exp2, torch.log, torch.log2, torch.sin, torch.cos,
    ]  # fmt: skip
    return rounded(torch.cat([*(function(x) for function in functions), x / x[0]]), dtype)
