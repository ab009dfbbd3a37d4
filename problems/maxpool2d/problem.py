"""Maximum over a sliding square window, KernelBench level 1 number 42."""

import torch
from torch import nn

batch_size = 32
channels = 64
height = 512
width = 512
kernel_size = 4
stride = 1
padding = 1
dilation = 1


class Model(nn.Module):
    """Each output is the largest input under its window; padding counts as minus infinity."""

    def __init__(self, kernel_size: int, stride: int, padding: int, dilation: int) -> None:
        super().__init__()
        self.maxpool = nn.MaxPool2d(kernel_size, stride=stride, padding=padding, dilation=dilation)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, channels, height, width) to (batch, channels, out_height, out_width)."""
        return self.maxpool(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.rand(batch_size, channels, height, width)]


def get_init_inputs() -> list[int]:
    return [kernel_size, stride, padding, dilation]
