import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void double_kernel(const float* x, float* y, int64_t first, int64_t last) {
    const int64_t stride = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = first + int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < last; i += stride) y[i] = 2.0f * x[i];
}

void double_part(torch::Tensor x, torch::Tensor y, int64_t first, int64_t last) {
    const int64_t blocks = std::min<int64_t>((last - first + 255) / 256, 1056);
    double_kernel<<<blocks, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), first, last);
}
"""

extension = load_inline(
    name="double",
    cpp_sources="void double_part(torch::Tensor x, torch::Tensor y, int64_t first, int64_t last);",
    cuda_sources=CUDA,
    functions=["double_part"],
)


def double(x):
    y = torch.empty_like(x)
    extension.double_part(x, y, 0, x.numel())
    return y


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen, self.graphs = set(), {}

    def capture(self, x):
        static_x, side, graph = x.clone(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                double(static_x)
        torch.cuda.current_stream().wait_stream(side)
        with torch.no_grad(), torch.cuda.graph(graph):
            y = double(static_x.neg()).neg_()
        return static_x, y, graph

    def forward(self, x):
        if x.shape not in self.seen:
            self.seen.add(x.shape)
            return double(x)
        if x.shape not in self.graphs:
            self.graphs[x.shape] = self.capture(x)
        static_x, y, graph = self.graphs[x.shape]
        static_x.copy_(x)
        graph.replay()
        return y.clone()
