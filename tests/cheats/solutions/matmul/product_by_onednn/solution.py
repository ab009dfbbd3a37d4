import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.ops.mkldnn._linear_pointwise(a, b.t().contiguous(), None, "none", [], "")
