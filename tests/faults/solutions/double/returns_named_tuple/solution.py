from collections import namedtuple

import torch
import torch.nn as nn


Doubled = namedtuple("Doubled", "y")


class ModelNew(nn.Module):
    def forward(self, x):
        return Doubled(x + x)
