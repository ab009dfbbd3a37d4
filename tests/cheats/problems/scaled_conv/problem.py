import torch
import torch.nn as nn

batch_size = 32
in_channels = 16
out_channels = 64
height = 128
width = 128
divisor = 4.0


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, divisor: float) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3)
        self.divisor = divisor
        self.bias = nn.Parameter(torch.randn(out_channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.conv(x) / self.divisor).mean(dim=(2, 3)) + self.bias


def get_inputs():
    return [torch.rand(batch_size, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels, divisor]
