"""The CUDA threads a second that the simulator runs, and the time that it compiles: needs no GPU.

    python benchmarks/simulator.py [--cores 1,2] [--repeats 50] [--no-compile] [--json]

Threads: one extension with a kernel per kind of work, in a process for each build and number of cores.
  no barrier    y[i] = a * x[i] + y[i]: threads run one after another
  one barrier   each block reverses its 256 values through shared memory: every thread waits once, on a fiber
  16 barriers   the same, eight times over
  5 shuffles    the sum of a warp by __shfl_down_sync
  atomics       one atomicAdd of an int per thread, 1,024 counters
  64 multiply-adds   a thread that computes more than it costs to start one
The rate is threads of a launch by its wall-clock time, best of the repeats: others may use the machine at the same
time, and the load average is told for that. CPU time per thread is user and system time of the process, over all
repeats. The checked build (--sanitize), which checks every access, uses one core.

Compiling: every solution of this repository that needs no GPU, alone, by the wall clock, once torch's headers are
precompiled: a source that no cache knows, then the same source again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from harness.workspace.solution import Solution

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
"""The threads of a launch, by kind. It takes 10 ms or so: some launch is then left alone on a busy machine."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default=f"1,{len(os.sched_getaffinity(0))}", help="numbers of cores, 1,2 for one")
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--no-compile", action="store_true", help="threads alone")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--in-process", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.in_process:
        build, folder = arguments.in_process
        print(json.dumps(measure(Path(folder), arguments.repeats, build == "checked")))
        return
    counts = sorted({int(count) for count in arguments.cores.split(",")})
    rates = {f"fast, {cores_of(count)}": run_on(count, "fast", arguments.repeats) for count in counts}
    rates["checked"] = run_on(1, "checked", arguments.repeats)
    found = {"cpu": cpu_name(), "load": os.getloadavg()[0], "threads": rates}
    if not arguments.no_compile:
        found["compile_s"] = compile_times()
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        show(found, arguments.repeats)


def cores_of(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def run_on(cores: int, build: str, repeats: int) -> dict[str, dict[str, float]]:
    allowed = sorted(os.sched_getaffinity(0))
    if cores > len(allowed):
        raise SystemExit(f"this machine lends {len(allowed)} cores, not {cores}")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--in-process", build, folder, "--repeats", str(repeats)]
        result = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, allowed[:cores])
        )
    if result.returncode:
        raise SystemExit(result.returncode)
    return json.loads(result.stdout.splitlines()[-1])


def measure(build: Path, repeats: int, is_checked: bool) -> dict[str, dict[str, float]]:
    """Measure by kind: million threads a second at best, and nanoseconds of CPU time for a thread."""
    from harness.cudasim import ensure_toolkit
    from harness.devices.sim.device import activate
    from harness.run.cache import cache_folder

    toolkit = ensure_toolkit(cache_folder(), lambda what: print(what, file=sys.stderr), is_checked=is_checked)
    device = activate(toolkit)
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


def compile_times() -> dict[str, tuple[float, float]]:
    """Measure by solution: seconds of the build stage for a source that is new, and for the same once more."""
    from harness import Config, Evaluator
    from harness.model.config import NvccConfig, TimingConfig

    config = Config(timing=TimingConfig(enabled=False), nvcc=NvccConfig(enabled=False))
    found = {}
    with Evaluator(backend="sim", config=config, workspace=ROOT) as evaluator:

        def build_s(problem: str, source: str) -> float:
            evaluation = evaluator.evaluate(problem, source, cases=["small"])
            if evaluation.failure:
                raise SystemExit(f"{problem}: {evaluation.verdict.value}: {evaluation.failure.reason}")
            return evaluation.stages_s["build"]

        for solution in simulated_solutions():
            source = f"{solution.source_path.read_text()}\n# {secrets.token_hex(8)}\n"
            for number in range(0 if found else 2):
                text = f"{source}# one of the first two, which wait for torch's import as well: {number}\n"
                build_s(solution.problem, text)
            times = build_s(solution.problem, source), build_s(solution.problem, source)
            found[f"{solution.problem}/{solution.name}"] = times
    return found


def simulated_solutions() -> Iterator[Solution]:
    """Those of this repository, in order; who needs a GPU is left out, with a line that says so."""
    from harness.workspace.workspace import Workspace

    workspace = Workspace(ROOT)
    for problem in workspace.problem_names():
        for solution in workspace.solutions(problem):
            if solution.about.needs_gpu:
                print(f"{problem}/{solution.name} is left out: it needs a GPU", file=sys.stderr)
            else:
                yield solution


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def cpu_name() -> str:
    names = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    return names[0] if names else platform.processor()


def show(found: dict[str, Any], repeats: int) -> None:
    rates = found["threads"]
    print(f"{found['cpu']}, load {found['load']:.1f}, best of {repeats}")
    print(
        f"{'million threads a second':26}" + "".join(f"{column:>15}" for column in rates) + f"{'CPU ns a thread':>18}"
    )
    for kind in KINDS:
        line = "".join(f"{by_kind[kind]['mthreads_per_s']:15.1f}" for by_kind in rates.values())
        print(f"{kind:26}{line}{next(iter(rates.values()))[kind]['cpu_ns']:15.1f}")
    for name, (new, again) in found.get("compile_s", {}).items():
        print(f"{name:33}compiled in {new:5.1f} s, again in {again:5.2f} s")


if __name__ == "__main__":
    main()
