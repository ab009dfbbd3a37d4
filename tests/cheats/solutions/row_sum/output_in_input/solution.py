import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        x[:, 0] = x.sum(dim=1)
        return x[:, 0]
