"""A check that what was promised still holds: measures it anew, and compares it with results/kept.json.

    python benchmarks/kept.py [--only WORD] [--accept]

Numbers hold for one kind of machine: a GPU's model, or the simulator with so many cores. A measure is lost where its
median is worse than the kept one by more than 10 % beyond the noise, which is the larger of both sets' half-spreads.
Hosts of one GPU's model differ by half and more, and an import of torch tells of that in part (of a cold disk too): a
time or a rate is lost where it is worse as measured and also as if this host imported torch in the kept time. The exit
code is then 1. `--accept` keeps the new numbers instead. Leave the machine alone meanwhile: it takes two to four
minutes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from harness.model.evaluation import Evaluation  # noqa: E402
from harness.store.index import open_index  # noqa: E402
from harness.store.journal import Journal, read_journals  # noqa: E402

KEPT = ROOT / "results/kept.json"
LOSS_PERCENT = 10.0
OURS = ("maxpool2d/one_copy", "avgpool2d/bulk_tile", "conv2d_square/tensor_strips", "conv2d_asymmetric/tensor_rows")
RECORDS = 500
CLOSE = 0.005
"""Equal arms are promised to lie that near to 1."""
HOST = "import torch"
"""It is timed first, and kept for good: nothing of ours is in it."""
_OF_THE_HOST = {"s": -1, "ms": -1, "/s": 1, "M/s": 1}
"""Units of what a slower host changes: times grow, rates shrink."""

store: Any = importlib.import_module("store")
simulator: Any = importlib.import_module("simulator")


@dataclass(frozen=True)
class Measured:
    """The repeats of a measure, in `unit`; of a speed-up its interval and estimate."""

    unit: str
    samples: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def on_faster_host(self, factor: float) -> Measured:
        """Return what a host that is faster by this factor would measure."""
        return replace(self, samples=[one * factor ** _OF_THE_HOST.get(self.unit, 0) for one in self.samples])

    @property
    def noise_percent(self) -> float:
        return 50 * (max(self.samples) - min(self.samples)) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Measure:
    unit: str
    take: Callable[[], list[float]]
    place: str = ""
    """The place where it can be taken: 'gpu', 'simulator', or anywhere."""


def loss_percent(now: Measured, kept: Measured) -> float:
    """Return by how much it became worse; negative where it became better."""
    if now.unit in ("s", "ms"):
        return 100 * (now.median / kept.median - 1)
    return 100 * (1 - now.median / kept.median)


def is_lost(now: Measured, kept: Measured) -> bool:
    return loss_percent(now, kept) > LOSS_PERCENT + max(now.noise_percent, kept.noise_percent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="WORD", help="measures with this word in their names alone")
    parser.add_argument("--accept", action="store_true", help=f"keep the new numbers in {KEPT.relative_to(ROOT)}")
    parser.add_argument("--file", type=Path, default=KEPT, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    kept = json.loads(chosen.file.read_text()) if chosen.file.exists() else {}
    kind = kind_of_machine()
    before = {name: Measured(**one) for name, one in kept.get(kind, {}).get("measures", {}).items()}
    print(f"{kind}, load {os.getloadavg()[0]:.1f}\n{'':36}{'kept':>10}{'now':>10}{'':9}{'loss':>7}  noise", flush=True)
    host = Measured("s", host_s())
    slowness = host.median / before.get(HOST, host).median
    print(f"{HOST:36}{host.median / slowness:10.4g}{host.median:10.4g} s")
    is_anchored = HOST in before or not (before and chosen.only)  # not beside numbers of an unknown host
    now: dict[str, Measured] = {HOST: host.on_faster_host(slowness)} if is_anchored else {}
    lost: list[str] = []
    for name, measure in measures(is_gpu=not kind.startswith("simulator")).items():
        if chosen.only in name:
            taken = Measured(measure.unit, measure.take())
            now[name] = taken.on_faster_host(slowness)
            better = min(taken, now[name], key=lambda one: loss_percent(one, before.get(name, one)))
            print(line_of(name, better, before.get(name)), flush=True)
            lost += [name] if name in before and is_lost(better, before[name]) else []
            if chosen.accept:  # at once: a run that is stopped has kept what it took
                measured = {name: asdict(one) for name, one in {**before, **now}.items()}
                kept[kind] = {"taken_at": time.strftime("%Y-%m-%d", time.gmtime()), "measures": measured}
                chosen.file.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    if lost and not chosen.accept:
        sys.exit(f"lost: {', '.join(lost)}")


def line_of(name: str, now: Measured, kept: Measured | None) -> str:
    if kept is None:
        return f"{name:36}{'-':>10}{now.median:10.4g} {now.unit:8}{'new':>7}  ±{now.noise_percent:.0f} %"
    mark = "  LOST" if is_lost(now, kept) else ""
    noise = max(now.noise_percent, kept.noise_percent)
    loss = loss_percent(now, kept)
    return f"{name:36}{kept.median:10.4g}{now.median:10.4g} {now.unit:8}{loss:+6.1f}%  ±{noise:.0f} %{mark}"


def measures(is_gpu: bool) -> dict[str, Measure]:
    """All that this kind of machine can take, the short ones first."""
    found = {
        "harness --help": Measure("s", help_s),
        f"{RECORDS // 10} records appended, each synced": Measure("/s", lambda: [one.alone for one in stores()]),
        f"{RECORDS} records appended in groups": Measure("/s", lambda: [one.together for one in stores()]),
        f"index of {RECORDS} records": Measure("s", lambda: [one.indexed_s for one in stores()]),
        f"leaderboard of {RECORDS} records": Measure("ms", lambda: [one.board_ms for one in stores()]),
        **{f"threads, {kind}": Measure("M/s", lambda kind=kind: rates(kind), "simulator") for kind in simulator.KINDS},
        "maxpool2d, command to verdict, cold": Measure("s", lambda: [cold for cold, _ in runs(is_gpu)]),
        "maxpool2d, command to verdict, warm": Measure("s", lambda: [warm for _, warm in runs(is_gpu)]),
        **{f"speed-up {name}": Measure("x", lambda name=name: speedup(name), "gpu") for name in OURS},
        "controls within 0.5 % of 1": Measure("%", controls, "gpu"),
    }
    place = "gpu" if is_gpu else "simulator"
    return {name: one for name, one in found.items() if one.place in ("", place)}


def kind_of_machine() -> str:
    import torch

    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    return f"simulator, {len(os.sched_getaffinity(0))} cores"


def host_s() -> list[float]:
    return [_seconds([sys.executable, "-c", HOST]) for _ in range(5)]


def help_s() -> list[float]:
    return [_seconds([sys.executable, "-m", "harness", "--help"]) for _ in range(7)]


@dataclass(frozen=True)
class Store:
    """The store's speed: records a second, and seconds."""

    alone: float
    together: float
    indexed_s: float
    board_ms: float


@cache
def stores() -> list[Store]:
    models = [_short(one) for one in read_journals(ROOT / "results") if one.timing]
    records = list(store._evaluations(RECORDS, 1, models))
    return [_store(records) for _ in range(3)]


def _short(model: Evaluation) -> Evaluation:
    """Shorten to what configs/quick.yaml measures: the headline's first blocks."""
    assert model.timing is not None
    turns = tuple(turn for turn in model.timing.turns if turn.block < 12)
    return replace(model, timing=replace(model.timing, turns=turns, rows=(), fresh_at=()))


def _store(records: Sequence[Evaluation]) -> Store:
    with tempfile.TemporaryDirectory(prefix="harness-kept-") as folder:
        other, results = Path(folder) / "alone", Path(folder) / "results"
        some = records[: RECORDS // 10]
        alone_s = store._timed(lambda: [Journal(other, one.run).append(one) for one in some])
        groups = [records[at : at + store.GROUP] for at in range(0, RECORDS, store.GROUP)]
        together_s = store._timed(lambda: [Journal(results, group[0].run).append_all(group) for group in groups])
        indexed_s = store._timed(lambda: open_index(results).close())
        board_s = min(store._timed(lambda: store._board(results)) for _ in range(3))
    return Store(len(some) / alone_s, RECORDS / together_s, indexed_s, board_s * 1e3)


@cache
def _rates() -> list[dict[str, dict[str, float]]]:
    return [simulator.run_on(1, "fast", 20) for _ in range(3)]


def rates(kind: str) -> list[float]:
    """Millions of simulated threads a second on one core."""
    return [by_kind[kind]["mthreads_per_s"] for by_kind in _rates()]


@cache
def runs(is_gpu: bool) -> list[tuple[float, float]]:
    """Time runs of a CUDA text that is new, then of the same again; on a GPU with an empty cache as well."""
    found = []
    for _ in range(2 if is_gpu else 3):
        with tempfile.TemporaryDirectory(prefix="harness-kept-") as name:
            folder = Path(name)
            for part in ("problems/maxpool2d", "solutions/maxpool2d/plain"):
                shutil.copytree(ROOT / part, folder / part)
            source = folder / "solutions/maxpool2d/plain/solution.py"
            source.write_text(source.read_text().replace("__global__", f"/* {secrets.token_hex(8)} */ __global__", 1))
            command = [sys.executable, "-m", "harness", "-C", name, "run", "--problem", "maxpool2d", "--quiet"]
            own = {"HARNESS_CACHE": str(folder / "cache")} if is_gpu else {}
            found.append((_seconds(command, own), _seconds(command, own)))
    return found


@cache
def compared() -> dict[str, Evaluation]:
    """Our solutions on this GPU, by configs/quick.yaml."""
    with tempfile.TemporaryDirectory(prefix="harness-kept-") as name:
        command = [sys.executable, "-m", "harness", "compare", "--config", "quick", "--results", name, "--quiet"]
        for one in OURS:
            command += ["--solution", one.split("/")[1]]
        _seconds(command)
        return {f"{one.problem.name}/{one.solution.name}": one for one in read_journals(Path(name))}


def speedup(name: str) -> list[float]:
    timing = compared()[name].timing
    if timing is None or timing.speedup is None:
        sys.exit(f"{name}: {compared()[name].verdict.value}, without a speed-up")
    return [timing.speedup.low, timing.speedup.estimate, timing.speedup.high]


def controls() -> list[float]:
    """The share of A/A controls, one for each of our solutions, that lie where they should."""
    ratios = [one.timing.control_ratio for one in compared().values() if one.timing]
    near = [ratio is not None and abs(ratio.estimate - 1) <= CLOSE for ratio in ratios]
    return [100 * sum(near) / len(near)]


def _seconds(command: Sequence[str], variables: dict[str, str] | None = None) -> float:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, **(variables or {}), "PYTHONPATH": path}
    started = time.perf_counter()
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if result.returncode:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}\n{result.stderr[-3000:]}")
    return seconds


if __name__ == "__main__":
    main()
