import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x + x
        x.view(-1)[[0, -1]] = x.view(-1)[[-1, 0]]
        return y
