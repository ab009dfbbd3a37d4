"""Mean over a sliding square window, KernelBench level 1 number 45."""

import torch
from torch import nn

batch_size = 16
channels = 64
height = 2048
width = 2048
kernel_size = 11


class Model(nn.Module):
    """Each output is the mean of the inputs under its window; padding counts as zeros."""

    def __init__(self, kernel_size: int, stride: int | None = None, padding: int = 0) -> None:
        super().__init__()
        self.avgpool = nn.AvgPool2d(kernel_size, stride=stride, padding=padding)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, channels, height, width) to (batch, channels, out_height, out_width)."""
        return self.avgpool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs() -> list[int]:
    return [kernel_size]
