import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(100):
            print("y" * 500_000)
        return x + x
