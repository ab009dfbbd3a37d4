"""How many CUDA threads the simulator runs in a second, in its fast and in its checked build.

Millions of threads per second of processor time, which other programs on the machine don't change much; the fast build
spreads its blocks over all cores. The best of several launches counts. Builds the simulator's toolkit on first use:

    python benchmarks/simulated_threads.py [--launches 6]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from typing import Any

from harness.backends.sim.device import activate
from harness.backends.sim.toolkit import Toolkit, ensure_toolkit
from harness.executors.cache import cache_folder

THREADS = {"fast": 1 << 24, "checked": 1 << 22}
DECLARATIONS = "".join(
    f"void {name}(torch::Tensor a, torch::Tensor b, torch::Tensor c);" for name in ("add", "reverse", "sum_warps")
)
KERNELS = """
#include <torch/extension.h>
__global__ void add_kernel(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void reverse_kernel(const float* a, float* c) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = a[i];
  __syncthreads();
  c[i] = tile[255 - threadIdx.x];
}
__global__ void sum_warps_kernel(const float* a, float* c) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float sum = a[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) c[i / 32] = sum;
}
void add(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
  add_kernel<<<a.numel() / 256, 256>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.numel());
}
void reverse(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
  reverse_kernel<<<a.numel() / 256, 256>>>(a.data_ptr<float>(), c.data_ptr<float>());
}
void sum_warps(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
  sum_warps_kernel<<<a.numel() / 256, 256>>>(a.data_ptr<float>(), c.data_ptr<float>());
}
"""
LABELS = {"add": "no barrier", "reverse": "one barrier", "sum_warps": "five shuffles"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--measure", choices=THREADS, help="Measure one build in this process, as JSON.")
    options = parser.parse_args()
    toolkit = ensure_toolkit(cache_folder(), lambda said: print(said, file=sys.stderr), is_checked=True)
    if options.measure:
        print(json.dumps(measure(Toolkit(toolkit.root, options.measure == "checked"), options.launches)))
        return
    rows = {}
    for build in THREADS:  # a process each: what a process simulates is decided once
        command = [sys.executable, __file__, "--measure", build, "--launches", str(options.launches)]
        rows[build] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{'kernel':<16}{'fast':>8}{'checked':>10}   million threads per second of one core")
    for name, label in LABELS.items():
        print(f"{label:<16}{rows['fast'][name]:>8.1f}{rows['checked'][name]:>10.1f}")


def measure(toolkit: Toolkit, launches: int) -> dict[str, float]:
    """Million threads per second of processor time, by kernel."""
    activate(toolkit)
    import torch
    from torch.utils.cpp_extension import load_inline

    with tempfile.TemporaryDirectory() as build:
        extension: Any = load_inline(
            "simulated_threads",
            cpp_sources=DECLARATIONS,
            cuda_sources=KERNELS,
            functions=list(LABELS),
            build_directory=build,
        )
    count = THREADS["checked" if toolkit.is_checked else "fast"]
    a, b, c = (torch.rand(count, device="cuda") for _ in range(3))
    found = {}
    for name in LABELS:
        seconds = []
        for _ in range(launches):
            start = time.process_time()
            getattr(extension, name)(a, b, c)
            seconds.append(time.process_time() - start)
        found[name] = count / min(seconds) / 1e6
    return found


if __name__ == "__main__":
    main()
