import torch
import torch.nn as nn

torch._C._jit_set_texpr_fuser_enabled(True)
torch._C._jit_override_can_fuse_on_gpu(True)


@torch.jit.script
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 4 - x * 2  # exact


class ModelNew(nn.Module):
    def forward(self, x):
        return twice(x)
