"""The speed of convolutions that take every parameter, where nobody tuned them: against cuDNN, at four other shapes.

The problem conv2d_asymmetric with other parameters, in a temporary workspace: each shape is a case of its own, which
is judged and timed like any other. A line for each solution and shape as it comes. Needs a GPU and nvcc; with quick a
shape takes about 20 s.

    python benchmarks/other_shapes.py [--solution NAME …] [--shape NAME …] [--config quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml

from harness.model.evaluation import Evaluation
from harness.run.session import open_session
from harness.workspace.selection import Task
from harness.workspace.workspace import Workspace

ROOT = Path(__file__).parents[1]
PROBLEM = "conv2d_asymmetric"
GENERIC = ["implicit_gemm", "implicit_wgmma"]
Shape = tuple[dict[str, int], list[Any]]
"""Constants of problem.py, and what get_init_inputs() returns: channels in and out, kernel, stride, padding, dilation,
groups, bias."""
SHAPES: dict[str, Shape] = {
    "pointwise": ({"batch_size": 32, "in_channels": 256, "height": 56, "width": 56}, [256, 512, [1, 1]]),
    "square": (
        {"batch_size": 32, "in_channels": 128, "height": 56, "width": 56},
        [128, 128, [3, 3], 1, [1, 1], 1, 1, True],
    ),
    "strided_dilated": (
        {"batch_size": 8, "in_channels": 64, "height": 256, "width": 128},
        [64, 192, [5, 3], [2, 1], [4, 2], [2, 2]],
    ),
    "grouped": (
        {"batch_size": 32, "in_channels": 128, "height": 56, "width": 56},
        [128, 256, [3, 3], 1, [1, 1], 1, 2, True],
    ),
}


def main() -> None:
    options = _options()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(Path(folder), options.solution)
        config = workspace.config(str(ROOT / "configs" / f"{options.config}.yaml"))
        for shape in options.shape:
            timed = replace(config, timing=replace(config.timing, case=shape))
            problem = workspace.problem(PROBLEM)
            tasks = [Task(problem, solution, (shape,)) for solution in workspace.solutions(PROBLEM)]
            results = Path(folder) / "results"
            with open_session("cuda", workspace.root, results, timed, None, lambda what: None, lanes=1) as session:
                for evaluation in session.evaluate(tasks, lambda job, what: None):
                    print(line_of(shape, evaluation), flush=True)
                    rows.append(row_of(shape, evaluation))
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1) + "\n")


def make_workspace(root: Path, solutions: Sequence[str], shapes: Mapping[str, Shape] = SHAPES) -> Workspace:
    """The problem with these shapes for cases, and these solutions of it."""
    shutil.copytree(ROOT / "problems" / PROBLEM, root / "problems" / PROBLEM)
    about_path = root / "problems" / PROBLEM / "problem.yaml"
    about = yaml.safe_load(about_path.read_text())
    about["cases"] = {
        name: {"constants": constants, "init_inputs": init_inputs} for name, (constants, init_inputs) in shapes.items()
    }
    about_path.write_text(yaml.safe_dump(about, sort_keys=False))
    for name in solutions:
        shutil.copytree(ROOT / "solutions" / PROBLEM / name, root / "solutions" / PROBLEM / name)
    return Workspace(root)


def line_of(shape: str, evaluation: Evaluation) -> str:
    head = f"{shape:16} {evaluation.solution.name:16}"
    timing = evaluation.timing
    if evaluation.failure or timing is None:
        return f"{head} {evaluation.verdict.value}: {evaluation.failure.reason if evaluation.failure else 'not timed'}"
    baseline_us, solution_us = (timing.median_ns(arm) / 1e3 for arm in (timing.baselines[0], "solution"))
    speedup = timing.speedup
    ratio = f"{speedup.estimate:.3f}× [{speedup.low:.3f}, {speedup.high:.3f}]" if speedup else "no ratio"
    noise = f"  noisy: {timing.noise}" if timing.noise else ""
    return f"{head} {baseline_us:9.1f} µs / {solution_us:9.1f} µs  {ratio}{noise}"


def row_of(shape: str, evaluation: Evaluation) -> dict[str, Any]:
    """Keep of an evaluation: times in microseconds, the ratio, where and by what it was measured."""
    timing = evaluation.timing
    speedup = timing.speedup if timing else None
    return {
        "shape": shape,
        "solution": evaluation.solution.name,
        "sha256": evaluation.solution.sha256,
        "verdict": evaluation.verdict.value,
        "baseline_us": timing.median_ns(timing.baselines[0]) / 1e3 if timing else None,
        "solution_us": timing.median_ns("solution") / 1e3 if timing else None,
        "speedup": speedup and [speedup.estimate, speedup.low, speedup.high],
        "noise": timing.noise if timing else None,
        "started_at": evaluation.started_at,
        "environment": asdict(evaluation.environment),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solution", action="append", help="repeatable; default: the generic fast ones")
    parser.add_argument("--shape", action="append", choices=list(SHAPES), help="repeatable; default: all")
    parser.add_argument("--config", choices=["quick", "default", "publish"], default="quick")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there, shape by shape")
    options = parser.parse_args()
    options.solution = list(dict.fromkeys(options.solution or GENERIC))
    options.shape = list(dict.fromkeys(options.shape or SHAPES))
    return options


if __name__ == "__main__":
    main()
