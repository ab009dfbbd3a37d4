"""KernelBench's own evaluator and ours on the same solutions: who passes what is wrong, who rejects what is right.

    python benchmarks/against_kernelbench.py KERNELBENCH [--leaderboard WORKSPACE] [--minutes 7] [--write]

KERNELBENCH is a checkout; its `eval_kernel_against_ref` runs as its scripts call it (5 trials, 100 timed calls), each
evaluation in a process of its own. The solutions are every `--every`th of our corpus of exploits, faults and honest
look-alikes, which stand by family, and of a workspace made by benchmarks/field.py. Half of `--every` goes on with those
between. Each is evaluated `--repeats` times by both, one after the
other. After `--minutes` nothing new is begun; the same command goes on, on this or another machine: every result in
`--results` names its GPU. Needs a CUDA GPU and nvcc.

KernelBench confines nothing, so the exploits run with all your rights: use a machine that can be thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
checkout, reference, solution, build, backend, answer = sys.argv[1:]

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
        subjects = [
            *list(corpus())[:: chosen.every],
            *(sample(chosen.leaderboard, chosen.every) if chosen.leaderboard else ()),
        ]
        for row in run(subjects, known, chosen):
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
    """A row for each evaluation that isn't known yet, until time is up."""
    import torch

    gpu, until = torch.cuda.get_device_name(), time.monotonic() + 60 * chosen.minutes
    for subject in subjects:
        for by, evaluate in (("kernelbench", by_kernelbench), ("harness", by_harness)):
            done = sum(row["name"] == subject.name and row["by"] == by for row in known)
            for _ in range(done, chosen.repeats):
                if time.monotonic() > until:
                    return
                with tempfile.TemporaryDirectory(prefix="against-", ignore_cleanup_errors=True) as folder:
                    started = time.monotonic()
                    found = evaluate(subject, Path(folder), chosen.kernelbench)
                    seconds = round(time.monotonic() - started, 2)
                place = {"gpu": gpu, "torch": torch.__version__}
                yield {"name": subject.name, "truth": subject.truth, "by": by, **found, "seconds": seconds, **place}


def by_kernelbench(subject: Subject, folder: Path, checkout: Path) -> dict[str, Any]:
    """Judge with empty caches, in a process of its own."""
    reference, answer = folder / "reference.py", folder / "answer.json"
    text = subject.reference.read_text()
    none = "" if "def get_init_inputs" in text else "\n\ndef get_init_inputs():\n    return []\n"
    reference.write_text(text + none)
    backend = "triton" if "import triton" in subject.source.read_text() else "cuda"
    arguments = [checkout.resolve(), reference, subject.source, folder / "build", backend, answer]
    status = _run([sys.executable, "-c", EVALUATE, *map(str, arguments)], folder)
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


def by_harness(subject: Subject, folder: Path, checkout: Path) -> dict[str, Any]:
    """Judge from command to verdict, with an empty cache too."""
    from harness.store.journal import read_journals

    command = [sys.executable, "-m", "harness", "-C", subject.workspace.resolve(), "run", "--quiet", "--no-source"]
    command += ["--problem", subject.problem, "--solution", subject.solution, "--results", folder / "results"]
    command += ["--config", subject.config]
    for case in subject.cases:
        command += ["--case", case]
    _run([str(part) for part in command], folder)
    for one in read_journals(folder / "results"):
        speedup = one.timing and one.timing.speedup
        passed = one.verdict.passed
        return {"verdict": one.verdict.value, "passed": passed, "speedup": speedup.estimate if speedup else None}
    return {"verdict": "no answer", "passed": False, "speedup": None}


def _run(command: Sequence[str], folder: Path) -> int | None:
    """The exit status; None where the time was up. What it started ends with it."""
    caches = ("HARNESS_CACHE", "TORCH_EXTENSIONS_DIR", "TRITON_CACHE_DIR", "XDG_CACHE_HOME")
    own = {name: str(folder / name.lower()) for name in caches}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command,
            env={**os.environ, **own, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return process.wait(TIMEOUT_S)
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
