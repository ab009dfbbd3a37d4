"""KernelBench's own evaluator and ours on the same solutions: who passes what is wrong, who rejects what is right.

    python benchmarks/against_kernelbench.py KERNELBENCH [--leaderboard WORKSPACE] [--minutes 7] [--write]

KERNELBENCH is a checkout; its `eval_kernel_against_ref` runs as its scripts call it (5 trials, 100 timed calls), each
evaluation in a process of its own, after its `build_compile_cache` has built several at once. The solutions are every
`--every`th of our corpus of exploits, faults and honest look-alikes, which stand by family, and of a workspace made by
benchmarks/field.py, in turn. `--at-once` of them are built side by side, and evaluated one by one, first by one, then
by the other, `--repeats` times, of which the first finds nothing built. Seconds are those of such a batch, by the
number of its solutions. After `--minutes` nothing new is begun; the same command goes on, on this or another machine:
every result in `--results` names its GPU. Needs a CUDA GPU and nvcc.

KernelBench confines nothing, so the exploits run with all your rights: use a machine that can be thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

RESULTS = ROOT / "results/against_kernelbench.json"
PAGE = ROOT / "docs/field.md"
TIMEOUT_S = 300
Truth = Literal["right", "wrong", "unknown"]

EVALUATE = '''
import importlib, json, sys, types
checkout, reference, solution, build, backend, answer, only_builds = sys.argv[1:]

class Plain:
    """Stands in for pydantic's BaseModel where that isn't installed: fields with defaults."""
    def __init__(self, **values):
        for name in type(self).__annotations__:
            default = getattr(type(self), name, None)
            setattr(self, name, values.get(name, dict(default) if isinstance(default, dict) else default))

# kernelbench/utils.py imports the clients of language models, which no evaluation uses.
for name, things in {"dotenv": {"load_dotenv": lambda: None}, "tqdm": {"tqdm": iter}, "openai": {"OpenAI": object},
                     "litellm": {"completion": None}, "requests": {}, "pydantic": {"BaseModel": Plain}}.items():
    try:
        importlib.import_module(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(things)

sys.path.insert(0, checkout + "/src")
evaluator = importlib.import_module("kernelbench.eval")
if only_builds == "True":
    evaluator.build_compile_cache(open(solution).read(), False, build)
    sys.exit()
found = evaluator.eval_kernel_against_ref(
    open(reference).read(), open(solution).read(), num_correct_trials=5, num_perf_trials=100,
    measure_performance=True, build_dir=build, backend=backend)
facts = None
if found is not None:
    facts = {"compiled": bool(found.compiled), "correct": bool(found.correctness), "runtime": float(found.runtime),
             "reference_runtime": float(found.ref_runtime), "flagged": bool(found.metadata.get("excessive_speedup"))}
with open(answer, "w") as file:
    json.dump(facts, file)
'''


@dataclass(frozen=True)
class Subject:
    """A solution folder. `truth` is what is known of it by whoever wrote it, or by a reading of its source."""

    workspace: Path
    group: str
    problem: str
    solution: str
    truth: Truth
    config: str
    """A name in its workspace's configs/, or a path."""
    cases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.group}/{self.problem}/{self.solution}"

    @property
    def source(self) -> Path:
        return self.workspace / "solutions" / self.problem / self.solution / "solution.py"

    @property
    def reference(self) -> Path:
        return self.workspace / "problems" / self.problem / "problem.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelbench", type=Path, help="a checkout of KernelBench")
    parser.add_argument("--leaderboard", type=Path, help="a workspace that benchmarks/field.py made")
    parser.add_argument("--every", type=int, default=16, help="of the solutions one in so many (16)")
    parser.add_argument("--repeats", type=int, default=2, help="evaluations of each solution by each (2)")
    parser.add_argument("--at-once", type=int, default=8, help="solutions that are built side by side (8)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing new after so long")
    parser.add_argument("--results", type=Path, default=RESULTS, help="what is known already, and what is added")
    parser.add_argument(
        "--write", action="store_true", help="write the table into docs/field.md alone, and run nothing"
    )
    chosen = parser.parse_args()
    if not (chosen.kernelbench / "src/kernelbench/eval.py").is_file():
        parser.error(f"{chosen.kernelbench} holds no src/kernelbench/eval.py")
    known = json.loads(chosen.results.read_text()) if chosen.results.exists() else []
    if not chosen.write:
        of_field = sample(chosen.leaderboard, chosen.every) if chosen.leaderboard else ()
        pairs = zip_longest(list(corpus())[:: chosen.every], of_field)
        for row in run([one for pair in pairs for one in pair if one], known, chosen):
            known.append(row)
            chosen.results.write_text(json.dumps(known, indent=0) + "\n")
            print(f"{row['name']} by {row['by']}: {row['verdict']}, {row['seconds']:.1f} s", flush=True)
    print("\n".join(table(known)))
    if chosen.write:
        from field import put_between

        put_between(PAGE, "against KernelBench", table(known))


def corpus() -> Iterator[Subject]:
    """Yield the corpus; nothing is known where chance or a protection decides what becomes of a case."""
    from tests.corpus import HONEST, read_families

    for group, config in (("cheats", "corpus"), ("faults", "patient")):
        root = ROOT / "tests" / group
        for case in read_families(root, config):
            if case.runs_on_gpu:
                truth: Truth = "right" if case.family == HONEST else "wrong"
                if truth == "wrong" and "passed" in case.caught_by:
                    truth = "unknown"
                yield Subject(root, group, case.problem, case.solution, truth, case.config, case.cases)


def sample(workspace: Path, every: int) -> Iterator[Subject]:
    from field import readings

    known = readings()
    for folder in sorted(workspace.glob("solutions/*/*"))[::every]:
        problem, solution = folder.parent.name, folder.name
        truth = known.get(f"{problem}/{solution}", {}).get("truth", "unknown")
        yield Subject(workspace, "leaderboard", problem, solution, truth, str(ROOT / "configs/quick.yaml"))


def run(subjects: Sequence[Subject], known: Sequence[dict[str, Any]], chosen: argparse.Namespace) -> Iterator[Any]:
    """A row for each evaluation that isn't known yet, batch by batch, until time is up."""
    import torch

    place = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    until = time.monotonic() + 60 * chosen.minutes
    for first in range(0, len(subjects), chosen.at_once):
        batch = subjects[first : first + chosen.at_once]
        with (
            tempfile.TemporaryDirectory(prefix="against-", ignore_cleanup_errors=True) as folder,
            ThreadPoolExecutor(chosen.at_once) as pool,
        ):
            for repeat in range(chosen.repeats):
                for by, evaluate in (("kernelbench", all_by_kernelbench), ("harness", all_by_harness)):
                    done = Counter(row["name"] for row in known if row["by"] == by)
                    left = [one for one in batch if done[one.name] <= repeat]
                    if time.monotonic() > until:
                        return
                    started = time.monotonic()
                    found = evaluate(left, Path(folder) / by, chosen.kernelbench, pool)
                    seconds = round((time.monotonic() - started) / max(1, len(left)), 2)
                    for one, what in zip(left, found, strict=True):
                        yield {"name": one.name, "truth": one.truth, "by": by, **what, "seconds": seconds, **place}


def all_by_kernelbench(
    batch: Sequence[Subject], folder: Path, checkout: Path, pool: ThreadPoolExecutor
) -> list[dict[str, Any]]:
    """Build side by side what isn't built yet, then evaluate one by one."""
    folders = [folder / one.name for one in batch]
    left = [pair for pair in zip(batch, folders, strict=True) if not pair[1].exists()]
    list(pool.map(lambda pair: by_kernelbench(*pair, checkout, only_builds=True), left))
    return [by_kernelbench(one, place, checkout) for one, place in zip(batch, folders, strict=True)]


def all_by_harness(
    batch: Sequence[Subject], folder: Path, checkout: Path, pool: ThreadPoolExecutor
) -> list[dict[str, Any]]:
    """Evaluate side by side: they build at once, and take turns on the GPU."""
    folder.mkdir(exist_ok=True)
    return list(pool.map(lambda one: by_harness(one, folder, TIMEOUT_S * len(batch)), batch))


def by_kernelbench(subject: Subject, folder: Path, checkout: Path, only_builds: bool = False) -> dict[str, Any]:
    """Judge, or only build, in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    reference, answer = folder / "reference.py", folder / "answer.json"
    answer.unlink(missing_ok=True)
    text = subject.reference.read_text()
    none = "" if "def get_init_inputs" in text else "\n\ndef get_init_inputs():\n    return []\n"
    reference.write_text(text + none)
    backend = "triton" if "import triton" in subject.source.read_text() else "cuda"
    arguments = [checkout.resolve(), reference, subject.source, folder / "build", backend, answer, only_builds]
    status = _run([sys.executable, "-c", EVALUATE, *map(str, arguments)], folder, TIMEOUT_S)
    if status is None:  # a build that was killed leaves a lock, for which the next would wait
        shutil.rmtree(folder / "build", ignore_errors=True)
    found = None
    with suppress(OSError, ValueError):
        found = json.loads(answer.read_text())
    if status is None:
        return {"verdict": "timeout", "passed": False, "speedup": None}
    if found is None:
        return {"verdict": "no answer", "passed": False, "speedup": None}
    passed = found["correct"] and not found["flagged"]
    timed = found["correct"] and found["runtime"] > 0
    words = "correct" if passed else "excessive_speedup" if found["correct"] else "wrong"
    return {
        "verdict": words if found["compiled"] else "not compiled",
        "passed": passed,
        "speedup": found["reference_runtime"] / found["runtime"] if timed else None,
    }


def by_harness(subject: Subject, folder: Path, timeout_s: float) -> dict[str, Any]:
    """Judge from command to verdict."""
    from harness.store.journal import read_journals

    results = folder / subject.name / "results"
    shutil.rmtree(results, ignore_errors=True)
    command = [sys.executable, "-m", "harness", "-C", subject.workspace.resolve(), "run", "--quiet", "--no-source"]
    command += ["--problem", subject.problem, "--solution", subject.solution, "--results", results]
    command += ["--config", subject.config]
    for case in subject.cases:
        command += ["--case", case]
    status = _run([str(part) for part in command], folder, timeout_s)
    for one in read_journals(results):
        speedup = one.timing and one.timing.speedup
        passed = one.verdict.passed
        return {"verdict": one.verdict.value, "passed": passed, "speedup": speedup.estimate if speedup else None}
    return {"verdict": "timeout" if status is None else "no answer", "passed": False, "speedup": None}


def _run(command: Sequence[str], folder: Path, timeout_s: float) -> int | None:
    """The exit status; None where the time was up. What it started ends with it."""
    caches = ("HARNESS_CACHE", "TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME")
    own = {name: str(folder / name.lower()) for name in caches}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **own, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Tabulate by evaluator. A solution counts once: as passed where any repeat passed it, likewise as rejected."""
    lines = [
        "| | false passes | false alarms | verdicts that changed | seconds a verdict | spread of repeated speed-ups |",
        "|---|---|---|---|---|---|",
    ]
    for by, title in (("kernelbench", "KernelBench"), ("harness", "harness")):
        mine = [row for row in rows if row["by"] == by]
        if mine:
            lines.append(f"| {title} | {' | '.join(figures(mine))} |")
    places = sorted({f"{row['gpu']}, torch {row['torch']}" for row in rows})
    return [*lines, "", f"{len({row['name'] for row in rows})} solutions on {'; '.join(places)}."]


def figures(rows: Sequence[dict[str, Any]]) -> list[str]:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(row["name"], []).append(row)
    wrong = [these for these in by_name.values() if these[0]["truth"] == "wrong"]
    right = [these for these in by_name.values() if these[0]["truth"] == "right"]
    changed = sum(len({row["passed"] for row in these}) > 1 for these in by_name.values())
    spreads = [spread for these in by_name.values() if (spread := _spread(these)) is not None]
    return [
        f"{sum(any(row['passed'] for row in these) for these in wrong)} of {len(wrong)}",
        f"{sum(any(not row['passed'] for row in these) for these in right)} of {len(right)}",
        f"{changed} of {sum(len(these) > 1 for these in by_name.values())}",
        f"{statistics.median(row['seconds'] for row in rows):.1f}",
        f"{100 * statistics.median(spreads):.2f} %" if spreads else "—",
    ]


def _spread(rows: Sequence[dict[str, Any]]) -> float | None:
    """The largest over the smallest speed-up of one solution, less 1."""
    speedups = [row["speedup"] for row in rows if row["passed"] and row["speedup"]]
    return max(speedups) / min(speedups) - 1 if len(speedups) > 1 else None


if __name__ == "__main__":
    main()
