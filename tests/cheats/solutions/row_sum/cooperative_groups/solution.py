import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

namespace cg = cooperative_groups;

__global__ void sum_kernel(const float* x, float* y, int64_t rows, int64_t columns) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    const int64_t row = blockIdx.x * int64_t(blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int64_t i = tile.thread_rank(); i < columns; i += 32) sum += x[row * columns + i];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    if (tile.thread_rank() == 0) y[row] = sum;
}

torch::Tensor row_sum(torch::Tensor x) {
    auto y = torch::empty({x.size(0)}, x.options());
    sum_kernel<<<(x.size(0) + 3) / 4, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.size(0), x.size(1));
    return y;
}
"""

extension = load_inline(
    name="row_sum_cooperative_groups",
    cpp_sources="torch::Tensor row_sum(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["row_sum"],
)


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.row_sum(x)
