"""A product of quantised matrices, with a scale for each row and column (Dettmers et al. 2022, arXiv:2208.07339)."""

import torch
from torch import nn

rows = 4096
inner = 4096
columns = 4096


class Model(nn.Module):
    """A product of int8 matrices; each row and each column of it is scaled in float32."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, a_scale: torch.Tensor, b_scale: torch.Tensor) -> torch.Tensor:
        """Map a (rows, inner), b (inner, columns), a_scale (rows) and b_scale (columns) to (rows, columns)."""
        products = a.to(a_scale.dtype) @ b.to(b_scale.dtype)
        return products * a_scale[:, None] * b_scale[None, :]


def get_inputs() -> list[torch.Tensor]:
    return [
        torch.randint(-128, 128, (rows, inner), dtype=torch.int8),
        torch.randint(-128, 128, (inner, columns), dtype=torch.int8),
        (torch.rand(rows) + 0.5) / 128,
        (torch.rand(columns) + 0.5) / 128,
    ]


def get_init_inputs() -> list[int]:
    return []
