import torch
import torch.nn as nn

batch = 64
channels = 256
side = 64


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


def get_inputs():
    return [torch.rand(batch, channels, side, side)]


def get_init_inputs():
    return [channels]
