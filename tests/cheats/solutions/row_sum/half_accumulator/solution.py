import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros(x.shape[0], dtype=torch.float16, device=x.device)
        for part in x.chunk(64, dim=1):
            y += part.sum(dim=1).half()
        return y.float()
