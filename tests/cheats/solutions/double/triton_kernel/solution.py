import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, y, count, BLOCK: tl.constexpr):
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = places < count
    tl.store(y + places, 2 * tl.load(x + places, mask=inside), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
