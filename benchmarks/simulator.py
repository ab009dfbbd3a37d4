"""How many CUDA threads a second the simulator runs, on one core and on all: needs no GPU.

    python benchmarks/simulator.py [--cores 1,2] [--repeats 50] [--sanitize] [--json]

One extension with a kernel per kind of work, in a process for each number of cores:
  no barrier    y[i] = a * x[i] + y[i]: threads run one after another
  one barrier   each block reverses its 256 values through shared memory: every thread waits once, on a fiber
  16 barriers   the same, eight times over
  5 shuffles    the sum of a warp by __shfl_down_sync
  atomics       one atomicAdd of an int per thread, 1,024 counters
  64 multiply-adds   a thread that computes more than it costs to start one
The rate is threads of a launch by its wall-clock time, best of the repeats: others may use the machine at the same
time, and the load average is told for that. CPU time per thread is user and system time of the process, over all
repeats.
--sanitize measures the build that checks every access.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

CUDA = """
#include <torch/extension.h>

constexpr int kThreads = 256;

__global__ void no_barrier(const float* x, float* y, float a, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = a * x[i] + y[i];
}

template <int kTimes>
__global__ void reverse(const float* x, float* y, float a, int64_t count) {
    __shared__ float values[kThreads];
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float value = i < count ? x[i] : 0.0f;
    for (int time = 0; time < kTimes; ++time) {
        values[threadIdx.x] = value;
        __syncthreads();
        value = values[kThreads - 1 - threadIdx.x];
        if (kTimes > 1) __syncthreads();
    }
    if (i < count) y[i] = a * value;
}

__global__ void shuffles(const float* x, float* y, float a, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    float value = i < count ? x[i] : 0.0f;
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
    if (i < count) y[i] = a * value;
}

__global__ void atomics(const float* x, float* y, float a, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(reinterpret_cast<int*>(y) + i % 1024, 1);
}

__global__ void multiply_adds(const float* x, float* y, float a, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float value = x[i];
    for (int k = 0; k < 64; ++k) value = value * a + 0.5f;
    y[i] = value;
}

void run(int64_t which, torch::Tensor x, torch::Tensor y) {
    const int64_t count = x.numel();
    const int blocks = (count + kThreads - 1) / kThreads;
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    switch (which) {
        case 0: no_barrier<<<blocks, kThreads>>>(from, to, 0.5f, count); break;
        case 1: reverse<1><<<blocks, kThreads>>>(from, to, 0.5f, count); break;
        case 2: reverse<8><<<blocks, kThreads>>>(from, to, 0.5f, count); break;
        case 3: shuffles<<<blocks, kThreads>>>(from, to, 0.5f, count); break;
        case 4: atomics<<<blocks, kThreads>>>(from, to, 0.5f, count); break;
        case 5: multiply_adds<<<blocks, kThreads>>>(from, to, 0.5f, count); break;
    }
}
"""

KINDS = {
    "no barrier": 1 << 20,
    "one barrier": 1 << 17,
    "16 barriers": 1 << 15,
    "5 shuffles": 1 << 16,
    "atomics": 1 << 19,
    "64 multiply-adds": 1 << 18,
}
"""How many threads a launch of each has: ten milliseconds or so, that one of them is left alone on a busy machine."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default=f"1,{len(os.sched_getaffinity(0))}", help="numbers of cores, 1,2 for one")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--in-process", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.in_process:
        print(json.dumps(measure(Path(arguments.in_process), arguments.repeats, arguments.sanitize)))
        return
    counts = sorted({int(count) for count in arguments.cores.split(",")})
    found = {}
    with tempfile.TemporaryDirectory() as build:
        for cores in counts:
            found[cores] = run_on(cores, Path(build), arguments)
    if arguments.json:
        print(json.dumps({"load": os.getloadavg(), "cpu": cpu_name(), "by_cores": found}, indent=2))
    else:
        show(found, arguments)


def run_on(cores: int, build: Path, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    allowed = sorted(os.sched_getaffinity(0))
    if cores > len(allowed):
        raise SystemExit(f"this machine lends {len(allowed)} cores, not {cores}")
    command = [sys.executable, __file__, "--in-process", str(build), "--repeats", str(arguments.repeats)]
    command += ["--sanitize"] if arguments.sanitize else []
    result = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, allowed[:cores])
    )
    if result.returncode:
        raise SystemExit(result.returncode)
    return json.loads(result.stdout.splitlines()[-1])


def measure(build: Path, repeats: int, is_checked: bool) -> dict[str, dict[str, float]]:
    """By kind: million threads a second at best, and nanoseconds of CPU time for a thread."""
    from harness.backends.sim.device import activate
    from harness.backends.sim.toolkit import ensure_toolkit
    from harness.executors.cache import cache_folder

    options = {}
    if is_checked:
        if "is_checked" not in inspect.signature(ensure_toolkit).parameters:
            raise SystemExit("this harness has no build of the simulator that checks every access (--sanitize)")
        options = {"is_checked": True}
    say = lambda what: print(what, file=sys.stderr)  # noqa: E731
    device = activate(ensure_toolkit(cache_folder(), say, **options))
    import torch
    from torch.utils.cpp_extension import load_inline

    torch.set_num_threads(1)
    extension = load_inline(
        "harness_simulator_rates",
        cpp_sources="void run(int64_t which, torch::Tensor x, torch::Tensor y);",
        cuda_sources=CUDA,
        functions=["run"],
        build_directory=str(build),
    )
    found = {}
    for which, (kind, threads) in enumerate(KINDS.items()):
        x, y = torch.rand(threads, device="cuda"), torch.zeros(threads, device="cuda")
        extension.run(which, x, y)
        seconds = []
        before = cpu_s()
        for _ in range(repeats):
            started = time.perf_counter()
            extension.run(which, x, y)
            seconds.append(time.perf_counter() - started)
        spent = cpu_s() - before
        device.synchronize()
        found[kind] = {"mthreads_per_s": threads / min(seconds) / 1e6, "cpu_ns": spent / repeats / threads * 1e9}
    return found


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def cpu_name() -> str:
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return names[0] if names else platform.processor()


def show(found: dict[int, dict[str, dict[str, float]]], arguments: argparse.Namespace) -> None:
    kind = "sanitized" if arguments.sanitize else "default"
    print(f"{cpu_name()}, load {os.getloadavg()[0]:.1f}, {kind} build, best of {arguments.repeats}")
    heads = [f"{'1 core' if cores == 1 else f'{cores} cores'}" for cores in found]
    print(f"{'million threads a second':26}" + "".join(f"{head:>10}" for head in heads) + f"{'CPU ns a thread':>18}")
    for name in KINDS:
        rates = "".join(f"{by_kind[name]['mthreads_per_s']:10.1f}" for by_kind in found.values())
        print(f"{name:26}{rates}{next(iter(found.values()))[name]['cpu_ns']:18.1f}")


if __name__ == "__main__":
    main()
