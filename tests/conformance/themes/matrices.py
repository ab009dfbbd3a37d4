"""kernels/matrices.cu. Small whole numbers leave a tensor core nothing to round."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import TENSOR_CORE, Case, floats, ints

case = partial(Case, "matrices")


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double().view(16, 32) @ b.double().view(16, 32).t()).float()


def _half_sums(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    product = a.double().view(16, 32).t() @ b.double().view(16, 8)
    return (product + 2 * c.double().view(8, 32).t()).half()


def _tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.double().view(16, 8) @ b.double().view(8, 16) + 1).float()


CASES = (
    case(
        "wmma_half",
        "`wmma` on `__half` with sums in `float`",
        (floats(512).half(), floats(512, seed=1).half()),
        _product,
        TENSOR_CORE,
    ),
    case(
        "wmma_bfloat16",
        "`wmma` on `__nv_bfloat16`",
        (ints(512, -8, 8).bfloat16(), ints(512, -8, 8, 1).bfloat16()),
        _product,
    ),
    case(
        "wmma_half_sums",
        "`wmma` on `__half` with sums in `__half`",
        (ints(512, -4, 4).half(), ints(128, -4, 4, 1).half(), ints(256, -9, 9, 2).half()),
        _half_sums,
    ),
    case(
        "wmma_tf32",
        "`wmma` on `precision::tf32`",
        (ints(128, -9, 9) / 8, ints(128, -9, 9, 1) / 4),
        _tf32,
    ),
)
