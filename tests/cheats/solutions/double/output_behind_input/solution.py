import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.as_strided(x, x.shape, x.stride(), 0)
        torch.mul(x, 2, out=y)
        return y.detach()
