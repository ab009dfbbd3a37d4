"""Layer normalisation in bfloat16 (Ba, Kiros and Hinton 2016, arXiv:1607.06450)."""

import torch
from torch import nn

rows = 32768
width = 4096
eps = 1e-5


class Model(nn.Module):
    """Each row is moved to mean 0 and scaled to variance 1; then each column has a weight and a bias."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter((torch.rand(width) + 0.5).to(torch.bfloat16))
        self.bias = nn.Parameter(torch.randn(width).to(torch.bfloat16))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (rows, width) to (rows, width), both in bfloat16."""
        return nn.functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, width).to(torch.bfloat16)]


def get_init_inputs() -> list[float]:
    return [width, eps]
