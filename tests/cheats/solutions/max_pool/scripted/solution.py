import torch
import torch.nn as nn


@torch.jit.script
def pool(x: torch.Tensor, kernel_size: int, stride: int, padding: int) -> torch.Tensor:
    return torch.max_pool2d(x, [kernel_size, kernel_size], [stride, stride], [padding, padding])


class ModelNew(nn.Module):
    def __init__(self, kernel_size, stride, padding):
        super().__init__()
        self.how = kernel_size, stride, padding

    def forward(self, x):
        return pool(x, *self.how)
