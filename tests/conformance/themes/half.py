"""kernels/half.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import HALF_FAST, Case, floats
from tests.conformance.oracle import int32, rounded
from tests.conformance.themes import sixteen_bit

case = partial(Case, "half")

NUMBERS = torch.tensor([0.5, 1.5, -2.5, 100.25, -100.75, 65504.0, float("nan"), float("inf")] * 8).half()


def _integers(x: torch.Tensor) -> torch.Tensor:
    value = x.double().nan_to_num(0.0, 1e30, -1e30)
    made = torch.arange(64).double() * 37 + 2000

    def whole(number: torch.Tensor, low: int, high: int) -> torch.Tensor:
        return number.clamp(low, high).long()

    def bits(number: torch.Tensor) -> torch.Tensor:
        return number.view(torch.int16).long()

    least, most = -(2**31), 2**31 - 1
    wide = torch.where(x.isnan(), torch.zeros(64).long(), whole(value.trunc().clamp(-1e5, 1e5), -(2**63), 2**62))
    wide = torch.where(x.isinf(), torch.full((64,), -1), wide)  # the low half of the largest 64-bit number
    rows = [
        whole(value.round(), least, most),
        whole(value.trunc(), least, most),
        whole(value.floor(), least, most),
        whole(value.ceil(), 0, 2**32 - 1),
        whole(value.round(), -(2**15), 2**15 - 1),
        wide,
        bits(rounded(made, torch.float16)),
        bits(rounded(made, torch.float16, "rz")),
        bits(rounded(made, torch.float16, "ru")),
        torch.arange(64),
    ]
    return int32(torch.cat(rows))


def _made(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    low, high = x.half().view(-1, 2).unbind(1)
    rows = [
        (low, high),
        (high, low),
        (high, low),
        (low, low),
        (low, torch.full_like(low, 1.5)),
        (high, high),
        (low, high),
    ]
    back = x.half().float()
    return torch.cat([torch.stack(row, 1).view(-1) for row in rows]), torch.cat([back, back])


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(32)
    for left, right in zip(a.view(32, 8).unbind(1), b.view(32, 8).unbind(1), strict=True):
        total = (left.double() * right.double() + total.double()).float()
    return total


CASES = (
    *sixteen_bit.cases("half", "half", torch.float16, HALF_FAST),
    case(
        "half_integers",
        "`__half2int_rz`, `__int2half_rn`, `__half22float2` and their family",
        (NUMBERS,),
        _integers,
    ),
    case(
        "half2_conversions",
        "`__half2int_rz`, `__int2half_rn`, `__half22float2` and their family",
        (floats(64, -9, 9),),
        _made,
    ),
    case(
        "half_vector_loads",
        "eight halves by one `float4` load, `__fmaf_rn`",
        (floats(256).half(), floats(256, seed=1).half()),
        _dot,
    ),
)
