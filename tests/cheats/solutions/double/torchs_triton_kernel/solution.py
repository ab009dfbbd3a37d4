import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.bmm(x.view(x.size(0), -1, 1), x.new_full((x.size(0), 1, 1), 2.0)).view_as(x)
