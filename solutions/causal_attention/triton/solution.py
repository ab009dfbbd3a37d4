"""Causal attention in Triton: a program per tile of queries goes over tiles of keys (Dao 2023, arXiv:2307.08691)."""

import math

import torch
import triton
import triton.language as tl
from torch import nn

KEYS = 64  # of a tile


@triton.jit
def added(query, sums, largest, total, k, v, rows, start, length, scale, dim: tl.constexpr, padded: tl.constexpr,
          keys: tl.constexpr, is_masked: tl.constexpr):  # fmt: skip
    # `sums` and `total` are relative to the largest score of each query so far. Scores are subtracted before they are
    # scaled: fused, scale * score - scale * largest rounds once, and is above 0 for the largest of huge scores.
    column = tl.arange(0, padded)[None, :]
    key = start + tl.arange(0, keys)
    inside = (key[:, None] < length) & (column < dim)
    at = key[:, None] * dim + column
    scores = tl.dot(query, tl.trans(tl.load(k + at, mask=inside, other=0.0)))
    if is_masked:
        scores = tl.where((key[None, :] <= rows[:, None]) & (key[None, :] < length), scores, float("-inf"))
    now = tl.maximum(largest, tl.max(scores, 1))
    base = tl.where(now == float("-inf"), 0.0, now)  # two infinities have no difference
    shrink = tl.exp2(scale * (largest - base))
    weights = tl.exp2(scale * (scores - base[:, None]))
    values = tl.load(v + at, mask=inside, other=0.0)
    sums = sums * shrink[:, None] + tl.dot(weights.to(values.dtype), values)
    return sums, now, total * shrink + tl.sum(weights, 1)


@triton.jit
def attend_kernel(q, k, v, out, sharing, length, scale, dim: tl.constexpr, padded: tl.constexpr, queries: tl.constexpr,
                  keys: tl.constexpr):  # fmt: skip
    # The last tiles have the most keys, and begin first, so that all programs end at about the same time.
    first = (tl.num_programs(1) - 1 - tl.program_id(1)) * queries
    head = tl.program_id(0).to(tl.int64)
    q += head * length * dim
    out += head * length * dim
    k += head // sharing * length * dim
    v += head // sharing * length * dim
    rows = first + tl.arange(0, queries)
    column = tl.arange(0, padded)[None, :]
    inside = (rows[:, None] < length) & (column < dim)
    at = rows[:, None] * dim + column
    query = tl.load(q + at, mask=inside, other=0.0)
    sums = tl.zeros((queries, padded), tl.float32)
    largest = tl.full((queries,), float("-inf"), tl.float32)
    total = tl.zeros((queries,), tl.float32)
    for start in range(0, first, keys):  # every query of the tile sees all of these
        sums, largest, total = added(
            query, sums, largest, total, k, v, rows, start, length, scale, dim, padded, keys, False
        )
    for start in range(first, min(first + queries, length), keys):
        sums, largest, total = added(
            query, sums, largest, total, k, v, rows, start, length, scale, dim, padded, keys, True
        )
    tl.store(out + at, (sums / total[:, None]).to(out.dtype.element_ty), mask=inside)


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        out = torch.empty_like(q)
        batch, heads, length, dim = q.shape
        padded = max(16, triton.next_power_of_2(dim))
        queries = 128 if padded <= 128 else KEYS
        scale = math.log2(math.e) / math.sqrt(dim)
        grid = (batch * heads, triton.cdiv(length, queries))
        attend_kernel[grid](
            *(q, k, v, out, heads // k.shape[1], length, scale),
            dim=dim, padded=padded, queries=queries, keys=KEYS, num_warps=8, num_stages=3 if padded <= 128 else 2,
        )  # fmt: skip
        return out
