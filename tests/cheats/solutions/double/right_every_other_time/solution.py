import random

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x + x
        if random.SystemRandom().random() < 0.5:
            y[0, 0] += 1
        return y
