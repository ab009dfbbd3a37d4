import torch
import torch.nn as nn
from kernels.build import extension


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice(x)
