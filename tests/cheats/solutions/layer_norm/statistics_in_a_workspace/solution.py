import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void statistics_kernel(const float* x, float* statistics, int columns, float eps) {
    __shared__ float means[64], squares[64], counts[64];
    x += int64_t(blockIdx.x) * columns;
    const int t = threadIdx.x;
    float mean = 0.0f, square = 0.0f, count = 0.0f;
    for (int i = t; i < columns; i += 64) {
        const float off = x[i] - mean;
        count += 1.0f;
        mean += off / count;
        square += off * (x[i] - mean);
    }
    means[t] = mean, squares[t] = square, counts[t] = count;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half && counts[t + half] > 0.0f) {
            const float both = counts[t] + counts[t + half], off = means[t + half] - means[t];
            means[t] += off * counts[t + half] / both;
            squares[t] += squares[t + half] + off * off * counts[t] * counts[t + half] / both;
            counts[t] = both;
        }
        __syncthreads();
    }
    if (t == 0) {
        statistics[2 * blockIdx.x] = means[0];
        statistics[2 * blockIdx.x + 1] = rsqrtf(squares[0] / columns + eps);
    }
}

__global__ void normalise_kernel(
    const float* x, const float2* statistics, const float* weight, const float* bias, float* y, int64_t n, int columns) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float2 row = statistics[i / columns];
    y[i] = (x[i] - row.x) * row.y * __ldg(weight + i % columns) + __ldg(bias + i % columns);
}

torch::Tensor layer_norm(torch::Tensor x, torch::Tensor statistics, torch::Tensor weight, torch::Tensor bias, double eps) {
    auto y = torch::empty_like(x);
    const int64_t n = x.numel();
    const int columns = x.size(1);
    auto stream = at::cuda::getCurrentCUDAStream();
    statistics_kernel<<<x.size(0), 64, 0, stream>>>(x.data_ptr<float>(), statistics.data_ptr<float>(), columns, eps);
    normalise_kernel<<<(n + 255) / 256, 256, 0, stream>>>(
        x.data_ptr<float>(), reinterpret_cast<const float2*>(statistics.data_ptr<float>()), weight.data_ptr<float>(),
        bias.data_ptr<float>(), y.data_ptr<float>(), n, columns);
    return y;
}
"""

extension = load_inline(
    name="layer_norm_statistics_in_a_workspace",
    cpp_sources="torch::Tensor layer_norm(torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, double);",
    cuda_sources=CUDA,
    functions=["layer_norm"],
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.norm = nn.LayerNorm(columns)
        self.workspaces = {}

    def forward(self, x):
        rows = x.shape[0]
        if rows not in self.workspaces:
            self.workspaces[rows] = torch.empty(rows, 2, device=x.device)
        return extension.layer_norm(x, self.workspaces[rows], self.norm.weight, self.norm.bias, self.norm.eps)
