"""A test whether compiling disturbs what is timed: one solution, again and again in three conditions in turn.

quiet       nothing else runs
apart       compilers on the cores that the harness leaves to builds, at low priority: what `harness compare` does
everywhere  compilers on all cores at normal priority: what it avoids

Needs a GPU, nvcc's host compiler and torch's headers. Run in a workspace:

    python benchmarks/overlap.py --problem maxpool2d --solution NAME --case full --repeats 4 [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from harness.run.cores import core_groups, cpu_quota, divide_cores, keep_thread_to
from harness.run.session import open_session
from harness.workspace.selection import Task
from harness.workspace.workspace import find_workspace

CONDITIONS = ("quiet", "apart", "everywhere")


def main() -> None:
    options = _options()
    workspace = find_workspace(Path.cwd())
    problem = workspace.problem(options.problem)
    (solution,) = workspace.solutions(options.problem, [options.solution])
    config = workspace.config(None)
    config = replace(config, timing=replace(config.timing, case=options.case))
    rows: list[dict[str, object]] = []
    with (
        tempfile.TemporaryDirectory() as results,
        open_session("cuda", workspace.root, Path(results), config, None, print, lanes=1) as session,
    ):
        environment = session.environment
        for repeat in range(options.repeats):
            for condition in CONDITIONS[repeat % 3 :] + CONDITIONS[: repeat % 3]:
                with _compilers(condition):
                    (evaluation,) = session.evaluate([Task(problem, solution, (options.case,))], lambda job, what: None)
                timing = evaluation.timing
                if timing is None or timing.speedup is None:
                    raise SystemExit(f"not timed: {evaluation.verdict.value}: {evaluation.failure}")
                rows.append(
                    {
                        "condition": condition,
                        "speedup": timing.speedup.estimate,
                        "low": timing.speedup.low,
                        "high": timing.speedup.high,
                        "eager_ns": timing.median_ns("eager"),
                        "solution_ns": timing.median_ns("solution"),
                    }
                )
                if options.json:
                    print(json.dumps(rows[-1]), flush=True)
    if not options.json:
        print(f"{options.problem}/{options.solution}, case {options.case}, {options.repeats} times each")
        print(f"{environment.gpu}, {environment.cpu_count} CPUs ({environment.cpu}), torch {environment.torch}")
        _print(rows)


def _print(rows: list[dict[str, object]]) -> None:
    print(f"{'condition':<11}{'speed-up':>10}{'spread':>9}{'half-width':>12}{'eager ms':>11}{'solution ms':>13}")
    for condition in CONDITIONS:
        mine = [row for row in rows if row["condition"] == condition]
        speedups = [float(row["speedup"]) for row in mine]  # type: ignore[arg-type]
        widths = [(float(row["high"]) - float(row["low"])) / 2 / float(row["speedup"]) for row in mine]  # type: ignore[arg-type]
        middle = median(speedups)
        spread = (max(speedups) - min(speedups)) / middle
        times = [median([float(row[key]) for row in mine]) / 1e6 for key in ("eager_ns", "solution_ns")]  # type: ignore[arg-type]
        print(f"{condition:<11}{middle:>9.4f}×{spread:>9.2%}{median(widths):>12.2%}{times[0]:>11.5f}{times[1]:>13.5f}")


@contextlib.contextmanager
def _compilers(condition: str) -> Iterator[None]:
    """Compilers at work for as long as the block runs, a process for each CPU that they may use."""
    if condition == "quiet":
        yield
        return
    cores = divide_cores(1, core_groups(), cpu_quota())
    cpus = cores.builds if condition == "apart" else frozenset(os.sched_getaffinity(0))
    if cpus is None:
        raise SystemExit("too few cores to compile on some of them: the harness builds and measures in turns here")
    count = len(cpus) if condition == "apart" else cores.usable
    started: list[subprocess.Popen[bytes]] = []
    thread = threading.Thread(target=_start, args=(started, cpus, count, condition == "apart"))
    thread.start()
    thread.join()
    try:
        yield
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _start(started: list[subprocess.Popen[bytes]], cpus: frozenset[int], count: int, is_background: bool) -> None:
    """Each compiles torch's headers over and over; the calling thread's cores and priority are theirs."""
    from torch.utils.cpp_extension import include_paths

    keep_thread_to(cpus, is_background=is_background)
    includes = " ".join(f"-isystem {path}" for path in include_paths())
    command = (
        f"while :; do echo '#include <torch/types.h>' | c++ -std=c++17 -O2 -fsyntax-only {includes} -x c++ -; done"
    )
    for _ in range(count):
        started.append(subprocess.Popen(["sh", "-c", command], start_new_session=True, stderr=subprocess.DEVNULL))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", required=True)
    parser.add_argument("--solution", required=True)
    parser.add_argument("--case", default="full")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="a line per measurement")
    return parser.parse_args()


if __name__ == "__main__":
    main()
