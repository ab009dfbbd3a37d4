"""Rotary position embedding (Su et al. 2021, arXiv:2104.09864), in the order of halves that GPT-NeoX and Llama use."""

import torch
from torch import nn

batch = 8
heads = 32
length = 4096
dim = 128
base = 10000.0
most_before = 4096


class Model(nn.Module):
    """Coordinate i of a head turns together with coordinate i + dim / 2, by an angle per position."""

    def forward(self, x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
        """Map (batch, heads, length, dim) to the same; `cosines` and `sines` are (length, dim / 2)."""
        first, second = x.chunk(2, -1)
        return torch.cat((first * cosines - second * sines, second * cosines + first * sines), -1).to(x.dtype)


def get_inputs() -> list[torch.Tensor]:
    """The positions go on from those of a text before, of up to `most_before`."""
    frequencies = base ** (-2 * torch.arange(dim // 2) / dim)
    angles = torch.outer(torch.randint(most_before, ()) + torch.arange(length), frequencies)
    return [torch.randn(batch, heads, length, dim, dtype=torch.bfloat16), angles.cos(), angles.sin()]


def get_init_inputs() -> list[float]:
    return []
