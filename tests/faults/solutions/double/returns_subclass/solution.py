import torch
import torch.nn as nn


class Named(torch.Tensor):
    pass


class ModelNew(nn.Module):
    def forward(self, x):
        return (x + x).as_subclass(Named)
