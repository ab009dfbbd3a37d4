import torch
import torch.nn as nn

rows = 1024
depth = 2048
columns = 4096


class Model(nn.Module):
    def __init__(self, depth: int, columns: int) -> None:
        super().__init__()
        self.linear = nn.Linear(depth, columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.randn(rows, depth)]


def get_init_inputs():
    return [depth, columns]
