"""kernels/cublas.cu. All numbers are whole, so that no order of a sum matters."""

from __future__ import annotations

from functools import partial

import torch

from tests.conformance.case import HALF_FAST, Case, ints

case = partial(Case, "cublas")

M, N, K = 6, 5, 8
START = 3.0


def _whole(count: int, seed: int = 0) -> torch.Tensor:
    return ints(count, -8, 8, seed).float()


def _sgemm(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    plain = 2 * (b.view(N, K) @ a.view(K, M)) + START
    turned = torch.full((N, M + 1), START)
    turned[:, :M] = (a.view(M, K) @ b.view(K, N)).T
    invalid_value = 7
    return plain.flatten(), turned.flatten(), torch.tensor([invalid_value, 0], dtype=torch.int32)


def _batches(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (b.view(3, K, N).mT @ a.view(3, K, M)).flatten()


def _gemm_ex(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    product = (b.float().view(N, K) @ a.float().view(K, M)).flatten()
    return product / 2 + START, product.half()


def _gemv(a: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    turned = torch.full((3 * K,), START)
    turned[::3] = a.view(K, M) @ x[: 2 * M : 2] + 2 * START
    return x[:K] @ a.view(K, M) + 2 * START, turned


def _bytes(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (b.int().view(4, 16) @ a.int().view(8, 16).T).flatten()


BIG = 16


def _lt(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, ...]:
    both_a, both_b = a.view(2, BIG, BIG), b.view(2, BIG, BIG)
    plain = 2 * (both_b @ both_a.mT) + START
    with_bias = both_b[0] @ both_a[0] + both_b[0] + bias
    invalid_value = 7
    statuses = torch.tensor([0, 0, 0, invalid_value], dtype=torch.int32)
    return plain.flatten(), with_bias.relu().flatten(), (both_a[0] @ both_b[0]).flatten(), statuses


def _lt_gelu(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, ...]:
    value = (b.float().view(BIG, BIG) @ a.float().view(BIG, BIG)) / 8 + bias.float()
    gelu = torch.nn.functional.gelu(value, approximate="tanh")
    return gelu.half().flatten(), value.half().flatten(), torch.tensor([0], dtype=torch.int32)


CASES = (
    case("cublas_sgemm", "`cublasSgemm`", (_whole(M * K), _whole(K * N, 1)), _sgemm, start=START),
    case("cublas_batches", "`StridedBatched`", (_whole(3 * M * K).double(), _whole(3 * K * N, 1).double()), _batches),
    case("cublas_gemm_ex", "`Hgemm`, `GemmEx`", (_whole(M * K).half(), _whole(K * N, 1).half()), _gemm_ex, start=START),
    case("cublas_gemv", "`Sgemv`", (_whole(M * K), _whole(2 * M, 1)), _gemv, start=START),
    case(
        "cublas_bytes",
        "`Hgemm`, `GemmEx`",
        (ints(128, -8, 8).to(torch.int8), ints(64, -8, 8, 1).to(torch.int8)),
        _bytes,
    ),
    case(
        "cublas_lt",
        "`cublasLtMatmul`",
        (_whole(2 * BIG * BIG), _whole(2 * BIG * BIG, 1), _whole(BIG, 2)),
        _lt,
        start=START,
    ),
    case(
        "cublas_lt_gelu",
        "`cublasLtMatmul`",
        (_whole(BIG * BIG).half(), _whole(BIG * BIG, 1).half(), _whole(BIG, 2).half()),
        _lt_gelu,
        HALF_FAST,
    ),
)
