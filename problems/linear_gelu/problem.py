"""A linear layer with a GELU (Hendrycks and Gimpel 2016, arXiv:1606.08415), as in the MLP of a transformer."""

import torch
from torch import nn
from torch.nn import functional

rows = 8192
in_features = 4096
out_features = 4096


class Model(nn.Module):
    """A matrix product in bfloat16; a bias and the exact GELU (with erf) follow."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        weight = torch.randn(out_features, in_features) * in_features**-0.5
        self.weight = nn.Parameter(weight.to(torch.bfloat16))
        self.bias = nn.Parameter(torch.randn(out_features, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (rows, in_features) to (rows, out_features)."""
        return functional.gelu(functional.linear(x, self.weight, self.bias))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, in_features, dtype=torch.bfloat16)]


def get_init_inputs() -> list[int]:
    return [in_features, out_features]
