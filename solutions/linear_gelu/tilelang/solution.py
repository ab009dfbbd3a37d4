"""A linear layer with GELU in TileLang: a block per tile of the output, with bias and GELU before the store."""

from functools import cache
from typing import Any

import tilelang
import tilelang.language as T
import torch
from torch import nn

TILE_ROWS, TILE_COLUMNS, TILE_TERMS = 128, 256, 64
THREADS, STAGES, ROWS_TOGETHER = 256, 3, 8


@cache
def compiled(rows: int, columns: int, terms: int) -> Any:
    """The kernel for these sizes, which makes its output itself."""

    @T.prim_func
    def linear_gelu(
        x: T.Tensor((rows, terms), "bfloat16"),
        weight: T.Tensor((columns, terms), "bfloat16"),
        bias: T.Tensor((columns,), "bfloat16"),
        out: T.Tensor((rows, columns), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(columns, TILE_COLUMNS), T.ceildiv(rows, TILE_ROWS), threads=THREADS) as (bx, by):
            left = T.alloc_shared((TILE_ROWS, TILE_TERMS), "bfloat16")
            right = T.alloc_shared((TILE_COLUMNS, TILE_TERMS), "bfloat16")
            sums = T.alloc_fragment((TILE_ROWS, TILE_COLUMNS), "float32")
            T.use_swizzle(ROWS_TOGETHER)  # blocks at work at the same time share what they read in the L2 cache
            T.clear(sums)
            for k in T.Pipelined(T.ceildiv(terms, TILE_TERMS), num_stages=STAGES):
                T.copy(x[by * TILE_ROWS, k * TILE_TERMS], left)
                T.copy(weight[bx * TILE_COLUMNS, k * TILE_TERMS], right)
                T.gemm(left, right, sums, transpose_B=True)
            for i, j in T.Parallel(TILE_ROWS, TILE_COLUMNS):
                column = bx * TILE_COLUMNS + j
                if column < columns:
                    sums[i, j] += T.cast(bias[column], "float32")
                sums[i, j] = 0.5 * sums[i, j] * (1.0 + T.erf(sums[i, j] * 0.7071067811865476))
            T.copy(sums, out[by * TILE_ROWS, bx * TILE_COLUMNS])

    return tilelang.compile(linear_gelu, out_idx=[-1])


class ModelNew(nn.Module):
    """Has parameters of the same names as the problem's, and makes them alike."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        weight = torch.randn(out_features, in_features) * in_features**-0.5
        self.weight = nn.Parameter(weight.to(torch.bfloat16))
        self.bias = nn.Parameter(torch.randn(out_features, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kernel = compiled(x.shape[0], *self.weight.shape)
        return kernel(x.contiguous(), self.weight, self.bias)
