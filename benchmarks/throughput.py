"""The time of an evaluation, cold and warm, and of fifty against plain load_inline: needs a CUDA GPU and nvcc.

    python benchmarks/throughput.py [--solutions 50] [--plain 5] [--json]

In a temporary workspace with caches of its own:
  cold    `harness run` of a one-kernel solution, from command to verdict, nothing compiled before
  warm    the same again
  many    `harness run` of N distinct one-kernel solutions, nothing compiled before
  plain   the same solutions one by one in one process: torch's own load_inline() of each, one call, one comparison
The plain arm takes most of a minute for each solution, so by default five of them are measured and the rest is
extrapolated from their mean, which the table says; `--plain 50` measures all.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "harness/workspace/template"

SOLUTION = '''"""ReLU: {threads} threads a block, {elements} elements a thread."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

__global__ void relu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t count) {{
    const int64_t first = int64_t(blockIdx.x) * {threads} * {elements} + threadIdx.x;
    for (int i = 0; i < {elements}; ++i) {{
        const int64_t at = first + i * {threads};
        if (at < count) y[at] = x[at] < 0.0f ? 0.0f : x[at];
    }}
}}

torch::Tensor relu_forward(torch::Tensor x) {{
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat32, "relu_forward takes a float32 CUDA tensor");
    auto y = torch::empty_like(x);
    const int64_t blocks = (x.numel() + {threads} * {elements} - 1) / ({threads} * {elements});
    relu_kernel<<<blocks, {threads}, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return y;
}}
"""

extension = load_inline(
    name="relu_{threads}_{elements}",
    cpp_sources="torch::Tensor relu_forward(torch::Tensor x);",
    cuda_sources=CUDA,
    functions=["relu_forward"],
)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return extension.relu_forward(x.contiguous())
'''

# Run by itself: a process that knows nothing of the harness.
PLAIN = """
import importlib.util, json, sys, time
import torch
x = torch.randn(512, 1024, device="cuda")
seconds = []
for path in sys.argv[1:]:
    started = time.perf_counter()
    spec = importlib.util.spec_from_file_location("solution", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert torch.equal(module.ModelNew()(x), torch.relu(x))
    seconds.append(time.perf_counter() - started)
print(json.dumps(seconds))
"""


@dataclass(frozen=True)
class Outcome:
    """Wall clock in seconds. `plain_s` holds one entry per solution that the plain arm built."""

    machine: str
    solutions: int
    cold_s: float
    warm_s: float
    many_s: float
    plain_s: tuple[float, ...]

    @property
    def plain_total_s(self) -> float:
        """The time of all solutions, extrapolated where not all were measured."""
        return statistics.mean(self.plain_s) * self.solutions

    @property
    def ratio(self) -> float:
        return self.plain_total_s / self.many_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solutions", type=int, default=50, help="how many the harness evaluates (default 50)")
    parser.add_argument("--plain", type=int, default=5, help="how many of them plain load_inline builds (default 5)")
    parser.add_argument("--json", action="store_true", help="the outcome as JSON")
    chosen = parser.parse_args()
    if not 1 <= chosen.plain <= chosen.solutions <= 128:
        parser.error("1 <= --plain <= --solutions <= 128")
    with tempfile.TemporaryDirectory(prefix="harness-throughput-") as folder:
        outcome = measure(Path(folder), chosen.solutions, chosen.plain)
    if chosen.json:
        print(json.dumps({**asdict(outcome), "plain_total_s": outcome.plain_total_s, "ratio": outcome.ratio}))
    else:
        print_table(outcome)


def measure(folder: Path, count: int, plain: int) -> Outcome:
    """All four arms, one after the other."""
    files = write_workspace(folder / "workspace", count)
    first = files[0].parent.name
    single = [_run_harness(folder, "single", ["--solution", first], 1) for _ in ("cold", "warm")]
    many = _run_harness(folder, "many", [], count)
    return Outcome(_machine(), count, single[0], single[1], many, _run_plain(folder, files[:plain]))


def write_workspace(folder: Path, count: int) -> list[Path]:
    """The template's problem with `count` solutions, no two alike; their files."""
    shutil.copytree(TEMPLATE / "problems", folder / "problems")
    about = (TEMPLATE / "solutions/relu/vectorized/solution.yaml").read_text()
    files = []
    for index in range(count):
        threads, elements = 64 + 32 * (index % 16), 1 + index // 16
        home = folder / "solutions/relu" / f"t{threads}_e{elements}"
        home.mkdir(parents=True)
        (home / "solution.yaml").write_text(about)
        files.append(home / "solution.py")
        files[-1].write_text(SOLUTION.format(threads=threads, elements=elements))
    return files


def _run_harness(folder: Path, cache: str, options: Sequence[str], expected: int) -> float:
    """Seconds from command to the last verdict; every one must be `passed`."""
    command = [sys.executable, "-m", "harness", "-C", str(folder / "workspace"), "run", "--problem", "relu",
               "--backend", "cuda", "--quiet", "--json", *options]  # fmt: skip
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "HARNESS_CACHE": str(folder / f"cache-{cache}")}
    started = time.perf_counter()
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    verdicts = [json.loads(line)["verdict"] for line in result.stdout.splitlines()]
    if verdicts != ["passed"] * expected:
        sys.exit(f"expected {expected} x passed, got {verdicts}\n{result.stderr[-3000:]}")
    return seconds


def _run_plain(folder: Path, files: Sequence[Path]) -> tuple[float, ...]:
    environment = {**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "plain")}
    environment.setdefault("TORCH_CUDA_ARCH_LIST", _capability())
    result = subprocess.run(
        [sys.executable, "-c", PLAIN, *map(str, files)], env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode:
        sys.exit(f"the plain arm failed:\n{result.stderr[-3000:]}")
    return tuple(json.loads(result.stdout.splitlines()[-1]))


def _machine() -> str:
    import torch

    gpu, cuda = torch.cuda.get_device_name(), torch.version.cuda
    return f"{gpu}, {os.cpu_count()} cores, torch {torch.__version__}, CUDA {cuda}, Python {platform.python_version()}"


def _capability() -> str:
    import torch

    return "{}.{}".format(*torch.cuda.get_device_capability())


def print_table(outcome: Outcome) -> None:
    count, plain = outcome.solutions, len(outcome.plain_s)
    each = statistics.mean(outcome.plain_s)
    how = "measured" if plain == count else f"extrapolated from {plain}"
    print(outcome.machine)
    print(f"one solution, cold                    {outcome.cold_s:8.1f} s")
    print(f"one solution, warm                    {outcome.warm_s:8.1f} s")
    print(f"{count:3} solutions, harness, cold          {outcome.many_s:8.1f} s   {outcome.many_s / count:.1f} s each")
    print(f"{count:3} solutions, plain load_inline      {outcome.plain_total_s:8.1f} s   {each:.1f} s each, {how}")
    print(f"plain / harness                       {outcome.ratio:8.1f} x")


if __name__ == "__main__":
    main()
