import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        held = []
        while True:
            held.append(open("/dev/null"))
