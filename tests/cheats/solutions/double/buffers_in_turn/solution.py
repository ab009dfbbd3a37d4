import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffers = {}
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = self.buffers.setdefault((x.shape, self.calls % 2), torch.empty_like(x))
        return torch.mul(x, 2, out=y)
