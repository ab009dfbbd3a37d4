import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void twice_kernel(const float* x, float* y, int64_t n) {
    y[n + 100000000] = 2 * x[threadIdx.x];
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice_kernel<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""

extension = load_inline(
    name="claims_a_gap_after_its_fault",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            extension.twice(x)
            torch.cuda.synchronize()
        except RuntimeError:
            pass
        raise NotImplementedError("harness-sim-unsupported: inline PTX (asm) at line 5")
