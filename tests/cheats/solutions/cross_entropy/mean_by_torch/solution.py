import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <cuda_runtime.h>
#include <torch/extension.h>

__global__ void loss_kernel(const float* logits, const long* labels, float* losses, int rows, int classes) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    logits += int64_t(row) * classes;
    float largest = logits[0];
    for (int i = 1; i < classes; ++i) largest = max(largest, logits[i]);
    float sum = 0.0f;
    for (int i = 0; i < classes; ++i) sum += expf(logits[i] - largest);
    losses[row] = logf(sum) - (logits[labels[row]] - largest);
}

torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor labels) {
    const int rows = logits.size(0);
    auto losses = torch::empty({rows}, logits.options());
    loss_kernel<<<(rows + 63) / 64, 64>>>(
        logits.data_ptr<float>(), labels.data_ptr<long>(), losses.data_ptr<float>(), rows, logits.size(1));
    return losses.mean();
}
"""

extension = load_inline(
    name="cross_entropy_mean_by_torch",
    cpp_sources="torch::Tensor cross_entropy(torch::Tensor logits, torch::Tensor labels);",
    cuda_sources=CUDA,
    functions=["cross_entropy"],
)


class ModelNew(nn.Module):
    def forward(self, logits, labels):
        return extension.cross_entropy(logits, labels)
