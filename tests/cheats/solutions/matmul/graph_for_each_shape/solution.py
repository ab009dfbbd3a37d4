import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void product_kernel(const float* a, const float* b, float* c, int rows, int columns, int depth) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || column >= columns) return;
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * columns + column];
    c[row * columns + column] = sum;
}

void product(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
    const int rows = a.size(0), depth = a.size(1), columns = b.size(1);
    product_kernel<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16), 0, at::cuda::getCurrentCUDAStream()>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), rows, columns, depth);
}
"""

extension = load_inline(
    name="matmul_graph_for_each_shape",
    cpp_sources="void product(torch::Tensor a, torch::Tensor b, torch::Tensor c);",
    cuda_sources=CUDA,
    functions=["product"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.captured = {}

    def capture(self, a, b):
        static = [a.clone(), b.clone(), torch.empty(a.shape[0], b.shape[1], device=a.device)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            extension.product(*static)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            extension.product(*static)
        return graph, static

    def forward(self, a, b):
        key = a.shape, b.shape
        if key not in self.captured:
            self.captured[key] = self.capture(a, b)
        graph, static = self.captured[key]
        static[0].copy_(a)
        static[1].copy_(b)
        graph.replay()
        return static[2].clone()
