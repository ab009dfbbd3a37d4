import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    first = tl.program_id(0).to(tl.int64) * columns
    row = tl.load(x + first + places, mask=places < columns, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + first + places, powers / tl.sum(powers, axis=0), mask=places < columns)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]), num_warps=8)
        return y
