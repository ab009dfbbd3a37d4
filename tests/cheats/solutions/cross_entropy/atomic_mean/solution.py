import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void loss_kernel(const float* logits, const int64_t* labels, float* loss, int rows, int classes) {
    const float* row = logits + int64_t(blockIdx.x) * classes;
    float largest = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < classes; i += 32) largest = fmaxf(largest, row[i]);
    for (int offset = 16; offset; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, offset));
    for (int i = threadIdx.x; i < classes; i += 32) sum += expf(row[i] - largest);
    for (int offset = 16; offset; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x == 0) atomicAdd(loss, (logf(sum) + largest - row[labels[blockIdx.x]]) / rows);
}

torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor labels) {
    auto loss = torch::zeros({}, logits.options());
    loss_kernel<<<logits.size(0), 32, 0, at::cuda::getCurrentCUDAStream()>>>(
        logits.data_ptr<float>(), labels.data_ptr<int64_t>(), loss.data_ptr<float>(), logits.size(0), logits.size(1));
    return loss;
}
"""

extension = load_inline(
    name="cross_entropy_atomic_mean",
    cpp_sources="torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor labels);",
    cuda_sources=CUDA,
    functions=["cross_entropy"],
)


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        return extension.cross_entropy(logits, labels)
