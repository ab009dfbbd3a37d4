import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.twice = torch.compile(lambda x: x * 2)

    def forward(self, x):
        return self.twice(x)
