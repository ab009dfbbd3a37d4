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
    name="matmul_halves_on_two_streams",
    cpp_sources="void product(torch::Tensor a, torch::Tensor b, torch::Tensor c);",
    cuda_sources=CUDA,
    functions=["product"],
)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, a, b):
        c = torch.empty(a.shape[0], b.shape[1], device=a.device)
        half = a.shape[0] // 2
        current = torch.cuda.current_stream()
        ready, done = torch.cuda.Event(), torch.cuda.Event()
        ready.record(current)
        with torch.cuda.stream(self.side):
            self.side.wait_event(ready)
            extension.product(a[:half], b, c[:half])
            done.record(self.side)
        extension.product(a[half:], b, c[half:])
        current.wait_event(done)
        return c
