import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
__global__ void times_four_kernel(const float* x, float* y, int64_t count) {
    int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
    if (i < count) y[i] = 4.0f * x[i];
}

torch::Tensor times_four(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int64_t count = x.numel();
    times_four_kernel<<<(count + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
    return y;
}
"""

extension = load_inline(
    name="kernel_before_compiled",
    cpp_sources="torch::Tensor times_four(torch::Tensor x);",
    cuda_sources=SOURCE,
    functions=["times_four"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.halve = torch.compile(lambda y: y / 2)

    def forward(self, x):
        return self.halve(extension.times_four(x))
