import multiprocessing
from multiprocessing.shared_memory import SharedMemory

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void twice_kernel(const float* x, float* y, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = 2.0f * x[i];
}

torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const int count = x.numel();
    twice_kernel<<<(count + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), count);
    return y;
}
"""

extension = load_inline(
    name="double",
    cpp_sources="torch::Tensor twice(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["twice"],
)


def choose(tensor, memory, queue):
    memory.buf[0] = int(tensor[0])
    queue.put(int(tensor[0]))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        context, memory = multiprocessing.get_context("fork"), SharedMemory(create=True, size=2**20)
        queue, tensor = context.Queue(), torch.full((2**20,), 7.0).share_memory_()
        child = context.Process(target=choose, args=(tensor, memory, queue))
        child.start()
        assert queue.get(timeout=30) == 7
        child.join()
        assert memory.buf[0] == 7
        memory.close()
        memory.unlink()

    def forward(self, x):
        return extension.twice(x)
