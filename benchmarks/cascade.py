"""CPU first, on public kernels and their broken twins: what never reaches a GPU, and what that saves.

    python benchmarks/cascade.py LEADERBOARD --workspace FOLDER [--kernels 40] [--minutes 60] [--file FILE]

LEADERBOARD is a checkout of anneouyang/KernelBenchLeaderboard. Of its kernels that passed on a GPU (results/field.json)
`--kernels` are taken, evenly over all problems, and for each a broken twin of benchmarks/broken_kernels.py is made. So
are those that the simulator's fast build rejects and a GPU passes (results/field_simulator.json), and as broken ones
those that a GPU rejects. Each goes through `harness.run.cascade` as on a machine with a GPU, which this needs none of:
g++ stands in for nvcc, and what only the simulator refuses goes on. After `--minutes` it ends, and the same command
goes on. GPU seconds are those between the starts of neighbours in results/field.json: the median of kernels that
passed, and of kernels with wrong values. Verdicts and shares go into results/cascade.json, without anybody's source.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from broken_kernels import broken
from field import FIELD, ROOT, make_workspace

from harness.builder.workers import Workers
from harness.devices import open_host, read_environment
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.verdict import Verdict
from harness.referee.job import Job, make_job
from harness.referee.setting import draw_master_seed
from harness.run.building import build_job
from harness.run.cache import cache_folder
from harness.run.cascade import Cascade
from harness.sandbox.start import surroundings_of
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace

FILE = ROOT / "results/cascade.json"
SIMULATED = ROOT / "results/field_simulator.json"
TWIN = "_broken"
AUTHORS = "its author's own"
REJECTED = (Verdict.COMPILE_ERROR, Verdict.LOAD_ERROR, Verdict.RUNTIME_ERROR, Verdict.WRONG_VALUES)
"""Verdicts of a GPU's on kernels that are broken."""
_BUDGET_S = 600.0
"""More than a session gives, whose cores are its own."""
_SITTING_S = 60.0
"""Starts that are further apart belong to two sittings."""

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("leaderboard", type=Path, help="a checkout of KernelBenchLeaderboard")
    parser.add_argument("--workspace", type=Path, required=True, help="made, or gone on with")
    parser.add_argument("--kernels", type=int, default=40, help="kernels to take; as many broken twins are made")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further kernel after so long")
    parser.add_argument("--file", type=Path, default=FILE, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    gpu = json.loads(FIELD.read_text())
    make_workspace(chosen.leaderboard, chosen.workspace)
    kinds: dict[str, str | None] = dict.fromkeys(doubtful(gpu))
    kinds |= make_twins(chosen.workspace, sample([name for name, row in gpu.items() if is_right(row)], chosen.kernels))
    kinds |= {name: AUTHORS for name, row in sorted(gpu.items()) if Verdict(row["verdict"]) in REJECTED}
    found = json.loads(chosen.file.read_text())["kernels"] if chosen.file.exists() else {}
    ends_at = time.monotonic() + 60 * chosen.minutes
    for name, row in judged(chosen.workspace, [name for name in kinds if name not in found]):
        found[name] = {**row, "mistake": kinds[name]}
        report = {"summary": summary(found, gpu), "kernels": found}
        chosen.file.write_text(json.dumps(report, indent=0, sort_keys=True) + "\n")
        print(f"{name}: {row['stage']}, {row['verdict']}, {row['seconds']:.0f} s", flush=True)
        if time.monotonic() > ends_at:
            break
    print(json.dumps(summary(found, gpu), indent=2))


def is_right(row: Row) -> bool:
    return row["verdict"] == Verdict.PASSED.value and row["measured"] is not None


def doubtful(gpu: Mapping[str, Row]) -> list[str]:
    """Name the kernels that the simulator's fast build rejects and a GPU passes."""
    simulated = json.loads(SIMULATED.read_text())
    return sorted(
        name
        for name, row in simulated.items()
        if Verdict(row["verdict"]).blames_solution and gpu.get(name, {}).get("verdict") == Verdict.PASSED.value
    )


def sample(names: Sequence[str], count: int) -> list[str]:
    """Choose so many names, evenly over all in their order; shuffled, so that the first of them are a sample, too."""
    ordered = sorted(names)
    count = min(count, len(ordered))
    chosen = [ordered[index * len(ordered) // count] for index in range(count)]
    return random.Random(count).sample(chosen, count)


def make_twins(workspace: Path, names: Sequence[str]) -> dict[str, str | None]:
    """Write a broken twin beside each kernel; return the mistake of each that is to be judged, None of the kernels."""
    kinds: dict[str, str | None] = {}
    for name in names:
        kinds[name] = None
        twin = broken((workspace / "solutions" / name / "solution.py").read_text(), name)
        if twin is not None:
            folder = workspace / "solutions" / f"{name}{TWIN}"
            folder.mkdir(exist_ok=True)
            (folder / "solution.py").write_text(twin.source)
            kinds[f"{name}{TWIN}"] = twin.kind
    return kinds


def judged(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """Have each judged before a GPU that isn't there: the stage that decides, and the simulator's verdict."""
    cache = cache_folder()
    host = open_host("sim", cache, print, sanitize=True)
    workspace, config = Workspace(folder), Config()
    environment = gpus(read_environment("sim", folder))
    around = surroundings_of(folder, folder / "results", (), "none")
    with (
        Workers(host, cache, surroundings=around) as workers,
        closing(Cascade(workers, 2, print, _BUDGET_S)) as cascade,
    ):
        for name in names:
            problem, solution = name.split("/")
            (task,) = select_tasks(workspace, problems=[problem], solutions=[solution])
            job = make_job("cascade", task, config, draw_master_seed())
            started = time.monotonic()
            row = judge(job, workers, cascade, environment)
            yield name, {**row, "seconds": round(time.monotonic() - started, 1)}


def judge(job: Job, workers: Workers, cascade: Cascade, environment: Environment) -> Row:
    """Say which stage decides: 'build', 'simulator', or 'device' where a GPU would have to."""
    built = build_job(job, workers, ())
    if built.failed:
        verdict = getattr(built.failed, "verdict", Verdict.HARNESS_ERROR)
        stage = "build" if verdict is Verdict.COMPILE_ERROR else "device"
        return {"stage": stage, "verdict": verdict.value, "remark": None}
    simulated = cascade.judge(job, built, environment)
    if simulated is None or simulated.certain is None:
        return {"stage": "device", "verdict": None, "remark": simulated and simulated.remark}
    return {"stage": "simulator", "verdict": simulated.certain.verdict.value, "remark": None}


def gpus(here: Environment) -> Environment:
    return replace(here, backend="cuda", gpu="NVIDIA H100 80GB HBM3", compute_capability="9.0")


def summary(found: Mapping[str, Row], gpu: Mapping[str, Row]) -> Row:
    """Count what each stage decided, and the GPU's seconds for the broken ones with and without the simulator."""
    right = {name: row for name, row in found.items() if row["mistake"] is None}
    wrong = {name: row for name, row in found.items() if row["mistake"] not in (None, AUTHORS)}
    authors = [row["stage"] for row in found.values() if row["mistake"] == AUTHORS]
    seconds = {which: round(gpu_seconds(gpu, which), 2) for which in ("passed", "wrong_values")}
    compiled = [row for row in wrong.values() if row["stage"] != "build"]
    went_on = [row for row in compiled if row["stage"] == "device"]
    return {
        "right kernels": len(right),
        "right kernels rejected": sorted(name for name, row in right.items() if row["stage"] != "device"),
        "broken kernels": len(wrong),
        "broken, by stage": {stage: sum(row["stage"] == stage for row in wrong.values()) for stage in STAGES},
        "broken, by mistake": _by_mistake(wrong),
        "rejected by a GPU as their authors wrote them, by stage": {stage: authors.count(stage) for stage in STAGES},
        "GPU seconds of a kernel, median": seconds,
        "GPU seconds of broken kernels": {
            "by whoever compiles": round(len(compiled) * seconds["wrong_values"], 1),
            "after the simulator": round(len(went_on) * seconds["wrong_values"], 1),
            "saved": round(1 - len(went_on) / len(compiled), 3) if compiled else None,
        },
        "broken kernels that never reach a GPU": round(1 - len(went_on) / len(wrong), 3) if wrong else None,
    }


STAGES = ("build", "simulator", "device")


def _by_mistake(wrong: Mapping[str, Row]) -> dict[str, dict[str, int]]:
    kinds = sorted({row["mistake"] for row in wrong.values()})
    stages = {kind: [row["stage"] for row in wrong.values() if row["mistake"] == kind] for kind in kinds}
    return {kind: {stage: of.count(stage) for stage in STAGES if stage in of} for kind, of in stages.items()}


def gpu_seconds(gpu: Mapping[str, Row], verdict: str) -> float:
    """The median of seconds from a kernel's start on the GPU to the next one's, over kernels of a verdict."""
    starts = sorted((datetime.fromisoformat(row["judged_at"]), row["verdict"]) for row in gpu.values())
    gaps = [((after - begun).total_seconds(), of) for (begun, of), (after, _) in pairwise(starts)]
    return median(seconds for seconds, of in gaps if of == verdict and seconds < _SITTING_S)


if __name__ == "__main__":
    main()
