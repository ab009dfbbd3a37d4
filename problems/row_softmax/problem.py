"""Softmax of each row of a matrix, as attention and classifiers take it (torch.nn.functional.softmax)."""

import torch
from torch import nn

rows = 16384
columns = 8192


class Model(nn.Module):
    """Each row becomes positive shares that add up to 1: exp(x), divided by its sum over the row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (rows, columns) to (rows, columns)."""
        return torch.softmax(x, dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, columns)]


def get_init_inputs() -> list[int]:
    return []
