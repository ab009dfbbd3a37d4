"""kernels/bfloat16.cu."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import BFLOAT16_FAST, Case, floats
from tests.conformance.oracle import rounded
from tests.conformance.themes import sixteen_bit

case = partial(Case, "bfloat16")


def _operators(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    x, y = a.double(), b.double()
    return rounded(torch.cat([x + y, x * y, -x, torch.maximum(x, y), x - y]), torch.bfloat16)


def _made(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    low, high = x.bfloat16().view(-1, 2).unbind(1)
    rows = [(low, high), (high, low), (high, low), (low, low)]
    back = x.bfloat16().float()
    return torch.cat([torch.stack(row, 1).view(-1) for row in rows]), torch.cat([back, back])


CASES = (
    *sixteen_bit.cases("bfloat16", "bfloat16", torch.bfloat16, BFLOAT16_FAST),
    case(
        "bfloat16_operators",
        "`+`, `*`, `>`, `-=` on `__nv_bfloat16`",
        (floats(64, -3, 3).bfloat16(), floats(64, -3, 3, 1).bfloat16()),
        _operators,
    ),
    case(
        "bfloat162_conversions",
        "`__bfloat1622float2` and its family",
        (floats(64, -9, 9),),
        _made,
    ),
)
