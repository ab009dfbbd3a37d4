"""Causal attention (Vaswani et al. 2017, arXiv:1706.03762), grouped heads (Ainslie et al. 2023, arXiv:2305.13245)."""

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

batch = 4
heads = 32
kv_heads = 8
length = 2048
dim = 128
least_operations = 2 * batch * heads * length * (length + 1) * dim  # two products, under the mask alone


class Model(nn.Module):
    """Each query attends to the keys up to its own position; `heads / kv_heads` heads share keys and values."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Map (batch, heads, length, dim) and twice (batch, kv_heads, length, dim) to (batch, heads, length, dim)."""
        return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def get_inputs() -> list[torch.Tensor]:
    counts = (heads, kv_heads, kv_heads)
    return [torch.randn(batch, count, length, dim, dtype=torch.bfloat16) for count in counts]


def get_init_inputs() -> list[float]:
    return []
