"""The time that a measurement takes, and whether the same speed-up comes out again.

sin(sin(…)) over tensors for which eager takes about 10 µs, 1 ms and 10 ms, against a kernel that does it all in one go,
in a temporary workspace. Each is measured with configs/quick.yaml and configs/publish.yaml, again and again, every time
in a run of its own: another session, other workers, other inputs. Two runs agree where their intervals overlap, so that
the union of the two is an interval that holds both speed-ups.

A line for each run as it comes: seconds without compiling, seconds of timing alone, the speed-up with its interval.
Needs a GPU and nvcc. A run with `publish` takes 25 to 45 s. `--results` keeps the evaluations, which
`harness show ID --results FOLDER` explains:

    python benchmarks/run_times.py --size 10us --size 1ms --config publish --repeats 2 [--results FOLDER] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.model.evaluation import Evaluation
from harness.run.session import open_session
from harness.workspace.problem import FULL
from harness.workspace.selection import Task
from harness.workspace.workspace import Workspace

CONFIGS = Path(__file__).parents[1] / "configs"
SIZES = {"10us": (2**12, 1), "1ms": (2**17, 3), "10ms": (2**18, 14)}
"""Rows of 1024 float32, and how often the sine is taken: eager reads and writes everything each time, on an H100 about
as long as the name says. (The kernel alone takes about as long as eager at 10 µs: below 9 no ratio is claimed.)"""

PROBLEM = """import torch

rows, steps = {rows}, {steps}


class Model(torch.nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, x):
        for _ in range(self.steps):
            x = torch.sin(x)
        return x


def get_inputs():
    return [torch.rand(rows, 1024)]


def get_init_inputs():
    return [steps]
"""
SETTINGS = """precision: float32
independent_batch: true
cases:
  small: {constants: {rows: 3}}
"""
SOLUTION = '''"""One thread takes all sines of four neighbouring values."""

import torch
from torch.utils.cpp_extension import load_inline

CUDA_SOURCE = r"""
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/types.h>

__device__ float sines(float x, int steps)
{
    for (int i = 0; i < steps; ++i) x = sinf(x);
    return x;
}

__global__ void sines_kernel(const float4* __restrict__ in, float4* __restrict__ out, int fours, int steps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= fours) return;
    const float4 x = in[i];
    out[i] = make_float4(sines(x.x, steps), sines(x.y, steps), sines(x.z, steps), sines(x.w, steps));
}

torch::Tensor repeated_sine(torch::Tensor input, int64_t steps)
{
    TORCH_CHECK(input.is_cuda() && input.is_contiguous() && input.scalar_type() == torch::kFloat32,
        "repeated_sine: input must be contiguous float32 on a CUDA device");
    TORCH_CHECK(input.numel() % 4 == 0, "repeated_sine: the number of values must be divisible by 4");
    const c10::cuda::CUDAGuard guard(input.device());
    auto output = torch::empty_like(input);
    const int fours = static_cast<int>(input.numel() / 4);
    sines_kernel<<<(fours + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const float4*>(input.const_data_ptr<float>()),
        reinterpret_cast<float4*>(output.mutable_data_ptr<float>()), fours, static_cast<int>(steps));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return output;
}
"""

extension = load_inline(
    name="run_times_sines",
    cpp_sources="torch::Tensor repeated_sine(torch::Tensor input, int64_t steps);",
    cuda_sources=CUDA_SOURCE,
    functions=["repeated_sine"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def forward(self, x):
        return extension.repeated_sine(x, self.steps)
'''


@dataclass(frozen=True)
class Row:
    """One run. `seconds` are those of the whole evaluation but for compiling, `timing_s` those of timing alone;
    `failure` says why there is no speed-up."""

    size: str
    config: str
    run: int
    seconds: float
    timing_s: float
    blocks: int
    baseline_us: float | None
    solution_us: float | None
    speedup: float | None
    low: float | None
    high: float | None
    metric: str | None
    noise: str | None
    failure: str | None


def main() -> None:
    options = _options()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(Path(folder), options.size)
        for size, config in itertools.product(options.size, options.config):
            for run in range(1, options.repeats + 1):
                rows.append(measured(workspace, size, config, run, options.results))
                print(json.dumps(asdict(rows[-1])) if options.json else line_of(rows[-1]), flush=True)
    if not options.json:
        print("\n".join(summary(rows)))


def make_workspace(root: Path, sizes: Sequence[str]) -> Workspace:
    """A problem for each of SIZES that is asked for, with its solution."""
    for name in sizes:
        rows, steps = SIZES[name]
        problem, solution = root / "problems" / name, root / "solutions" / name / "fused"
        problem.mkdir(parents=True)
        solution.mkdir(parents=True)
        (problem / "problem.py").write_text(PROBLEM.format(rows=rows, steps=steps))
        (problem / "problem.yaml").write_text(SETTINGS)
        (solution / "solution.py").write_text(SOLUTION)
        (solution / "solution.yaml").write_text("author: harness authors\nexplanation: All sines in one kernel.\n")
    return Workspace(root)


def measured(workspace: Workspace, size: str, config_name: str, run: int, results: Path | None = None) -> Row:
    """One run, in a session of its own; its evaluation is written below `results`."""
    config = workspace.config(str(CONFIGS / f"{config_name}.yaml"))
    (solution,) = workspace.solutions(size)
    task = Task(workspace.problem(size), solution, (FULL,))
    started = time.monotonic()
    with (
        contextlib.nullcontext(results) if results else tempfile.TemporaryDirectory() as kept,
        open_session("cuda", workspace.root, Path(kept), config, None, lambda what: None, lanes=1) as session,
    ):
        (evaluation,) = session.evaluate([task], lambda job, what: None)
    return row_of(evaluation, size, config_name, run, time.monotonic() - started)


def row_of(evaluation: Evaluation, size: str, config: str, run: int, wall_s: float) -> Row:
    timing, stages_s = evaluation.timing, evaluation.stages_s
    speedup = timing.speedup if timing else None
    failure = evaluation.failure.reason if evaluation.failure else None
    return Row(
        size=size,
        config=config,
        run=run,
        seconds=wall_s - stages_s.get("build", 0.0),
        timing_s=stages_s.get("timing", 0.0),
        blocks=len(timing.block_ns("solution")) if timing else 0,
        baseline_us=timing.median_ns(timing.baselines[0]) / 1e3 if timing else None,
        solution_us=timing.median_ns("solution") / 1e3 if timing else None,
        speedup=speedup.estimate if speedup else None,
        low=speedup.low if speedup else None,
        high=speedup.high if speedup else None,
        metric=timing.metric if timing else None,
        noise=timing.noise if timing else None,
        failure=f"{evaluation.verdict.value}: {failure}" if failure else None,
    )


def line_of(row: Row) -> str:
    head = f"{row.size:>5} {row.config:8} run {row.run}  {row.seconds:6.1f} s, timing {row.timing_s:6.1f} s"
    if row.failure or row.baseline_us is None or row.solution_us is None:
        return f"{head}  {row.failure or 'not timed'}"
    times = f"{row.baseline_us:10.2f} µs / {row.solution_us:9.2f} µs"
    metric = "" if row.metric == "gpu_cold" else f"  {row.metric}"
    noise = f"  noisy: {row.noise}" if row.noise else ""
    return f"{head}  {times}  {_speedup(row)}  {row.blocks} blocks{metric}{noise}"


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Say for each size and config the seconds from the shortest to the longest run, and how the runs agree."""
    yield ""
    yield " size config    runs      seconds   widest ±   furthest apart   agree"
    for size, config in dict.fromkeys((row.size, row.config) for row in rows):
        own = [row for row in rows if (row.size, row.config) == (size, config)]
        seconds = f"{min(row.seconds for row in own):.1f} to {max(row.seconds for row in own):.1f}"
        known = [_bounds(row) for row in own if row.speedup is not None]
        if not known:
            yield f"{size:>5} {config:8} {len(own):5}  {seconds:>11}          —                —   —"
            continue
        widest = max((high - low) / 2 / middle for middle, low, high in known)
        apart = max(middle for middle, _, _ in known) / min(middle for middle, _, _ in known) - 1
        yield (
            f"{size:>5} {config:8} {len(own):5}  {seconds:>11}   {widest:8.3%}         {apart:8.3%}   {agreement(own)}"
        )


def agreement(rows: Sequence[Row]) -> str:
    """'3 of 3' pairs of runs whose intervals overlap, and whose metric is the same."""
    known = [row for row in rows if row.speedup is not None]
    pairs = list(itertools.combinations(known, 2))
    if not pairs:
        return "—"
    agreeing = sum(
        one.metric == two.metric and _bounds(one)[1] <= _bounds(two)[2] and _bounds(two)[1] <= _bounds(one)[2]
        for one, two in pairs
    )
    return f"{agreeing} of {len(pairs)}"


def _speedup(row: Row) -> str:
    if row.speedup is None:
        return "no ratio"
    middle, low, high = _bounds(row)
    return f"{middle:.4f}× [{low:.4f}, {high:.4f}] ±{(high - low) / 2 / middle:.2%}"


def _bounds(row: Row) -> tuple[float, float, float]:
    assert row.speedup is not None
    assert row.low is not None
    assert row.high is not None
    return row.speedup, row.low, row.high


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", action="append", choices=list(SIZES), help="repeatable; default: all")
    parser.add_argument("--config", action="append", choices=["quick", "publish"], help="repeatable; default: both")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each")
    parser.add_argument("--results", type=Path, help="where evaluations are kept; default: nowhere")
    parser.add_argument("--json", action="store_true", help="a line of JSON per run, and no table")
    options = parser.parse_args()
    options.size = list(dict.fromkeys(options.size or SIZES))
    options.config = list(dict.fromkeys(options.config or ("quick", "publish")))
    return options


if __name__ == "__main__":
    main()
