"""Transposed convolution that doubles the sides of an image, as in DCGAN (Radford et al. 2015, arXiv:1511.06434)."""

import torch
from torch import nn

batch_size = 16
in_channels = 64
out_channels = 64
height = 128
width = 128
kernel_size = 4
stride = 2
padding = 1


class Model(nn.Module):
    """A transposed 2-D convolution in NCHW layout."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, stride: int, padding: int, bias: bool = False
    ) -> None:
        super().__init__()
        self.conv_transpose2d = nn.ConvTranspose2d(
            in_channels, out_channels, kernel_size, stride=stride, padding=padding, bias=bias
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map (batch, in_channels, height, width) to (batch, out_channels, ...)."""
        return self.conv_transpose2d(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size, stride, padding]
