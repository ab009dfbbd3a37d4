"""The reference: what every solution must compute. Replace it by yours, or by any KernelBench file."""

import torch
import torch.nn as nn

rows = 4096
columns = 8192


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


def get_inputs():
    return [torch.randn(rows, columns)]


def get_init_inputs():
    return []
