"""How often each value occurs (Podlozhnyuk 2007, "Histogram calculation in CUDA", NVIDIA)."""

import torch
from torch import nn

count = 2**27
bins = 256
skew = 4  # with 1, all bins are equally likely; with 4, a quarter of the values falls into the first of 256


class Model(nn.Module):
    """Counts how many elements have each of the values from 0 to bins - 1."""

    def __init__(self, bins: int) -> None:
        super().__init__()
        self.bins = bins

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (count,) in int32 to (bins,) in int64."""
        return torch.bincount(x, minlength=self.bins)


def get_inputs() -> list[torch.Tensor]:
    """Draw values from 0 to bins - 1, small ones more often."""
    return [(torch.rand(count) ** skew * bins).int().clamp_(max=bins - 1)]


def get_init_inputs() -> list[int]:
    return [bins]
