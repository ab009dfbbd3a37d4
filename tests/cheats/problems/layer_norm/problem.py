import torch
import torch.nn as nn

rows = 8192
columns = 8192


class Model(nn.Module):
    def __init__(self, columns: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(columns)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return [columns]
