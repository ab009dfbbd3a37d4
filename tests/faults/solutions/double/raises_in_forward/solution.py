import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        raise ValueError("columns must be a multiple of 32")
