import a_package_that_nobody_has

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return a_package_that_nobody_has.double(x)
