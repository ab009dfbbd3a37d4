import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (row + row for row in x)
