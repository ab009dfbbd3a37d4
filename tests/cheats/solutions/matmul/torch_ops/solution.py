import torch
import torch.nn as nn


product = torch.ops.aten.mm.default


class ModelNew(nn.Module):
    def forward(self, a, b):
        return product(a, b)
