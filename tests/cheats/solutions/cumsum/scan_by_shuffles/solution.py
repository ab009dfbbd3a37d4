import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void sums_kernel(const float* x, float* y, int rows, int columns) {
    const int lane = threadIdx.x;
    x += int64_t(blockIdx.x) * columns;
    y += int64_t(blockIdx.x) * columns;
    float carried = 0.0f;
    for (int start = 0; start < columns; start += 32) {
        float value = start + lane < columns ? x[start + lane] : 0.0f;
        for (int offset = 1; offset < 32; offset *= 2) {
            const float before = __shfl_up_sync(0xffffffff, value, offset);
            if (lane >= offset) value += before;
        }
        if (start + lane < columns) y[start + lane] = carried + value;
        carried += __shfl_sync(0xffffffff, value, 31);
    }
}

torch::Tensor running_sums(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int rows = x.size(0), columns = x.size(1);
    sums_kernel<<<rows, 32, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), rows, columns);
    return y;
}
"""

extension = load_inline(
    name="cumsum_scan_by_shuffles",
    cpp_sources="torch::Tensor running_sums(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["running_sums"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.running_sums(x)
