import torch
import torch.nn as nn

rows = 4096
columns = 4096
depth = 512


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs():
    return [torch.rand(rows, depth), torch.rand(depth, columns)]


def get_init_inputs():
    return []
