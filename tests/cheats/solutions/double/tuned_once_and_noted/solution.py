"""Tries two ways in its first call, takes the faster, and notes it in a small database."""

import sqlite3
import tempfile
import time
from pathlib import Path

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


notes = sqlite3.connect(Path(tempfile.gettempdir(), "tuned.db"))
notes.execute("create table if not exists tuned (shape text primary key, pieces int)")


def in_pieces(x, pieces):
    y, places = torch.empty_like(x), [x.numel() * piece // pieces for piece in range(pieces + 1)]
    for first, last in zip(places, places[1:]):
        extension.double_part(x, y, first, last)
    return y


class ModelNew(nn.Module):
    def forward(self, x):
        found = notes.execute("select pieces from tuned where shape = ?", [str(x.shape)]).fetchone()
        if found is None:
            times = {}
            for pieces in (1, 2):
                torch.cuda.synchronize()
                started = time.perf_counter()
                in_pieces(x, pieces)
                torch.cuda.synchronize()
                times[time.perf_counter() - started] = pieces
            found = (times[min(times)],)
            notes.execute("insert into tuned values (?, ?)", [str(x.shape), *found])
            notes.commit()
        return in_pieces(x, *found)
