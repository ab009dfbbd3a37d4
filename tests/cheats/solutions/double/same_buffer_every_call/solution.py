import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffers = {}

    def forward(self, x):
        y = self.buffers.setdefault(x.shape, torch.empty_like(x))
        return torch.mul(x, 2, out=y)
