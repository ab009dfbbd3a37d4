"""A step of a training run: hundreds of candidates through `harness serve` on GPUs, some of which crash, hang or hog.

    python benchmarks/served.py WORKSPACE [--candidates 256] [--beside 24] [--minutes 8] [--file FILE]

WORKSPACE is one of benchmarks/field.py. Kernels of its levels 1 and 2 that have a verdict in results/field.json are
drawn, every twentieth of them as a hostile twin, and handed in at once by a client in this process. What is judged
within `--minutes` counts. Then `harness compare` judges `--beside` of those that passed, with the same config. Printed,
and added to results/served.json: seconds a candidate, how busy the GPUs were, verdicts that are not those of
results/field.json or of compare, how many intervals of speed-ups overlap, and how long a step
of 768 takes at this rate.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from field import FIELD, ROOT
from serving import start

import harness
from harness.model.evaluation import Evaluation
from harness.model.statistics import Interval
from harness.model.verdict import Verdict
from harness.serve.messages import ENDED
from harness.store.journal import read_journals

STEP = 768
CONFIG = """correctness: {seeds: 1}
timing: {blocks: 6, precision: 0.1, calls_per_turn: 3, budget_s: 3, checked_turns: 1, metrics: []}
limits: {turn_s: 15}
"""
HOSTILE = {
    "crashes": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", Verdict.CRASHED),
    "hangs": ("while True: pass", Verdict.TIMEOUT),
    "hogs": ("import torch; kept = [torch.zeros(2**28, device='cuda') for _ in range(10**4)]", Verdict.OUT_OF_MEMORY),
}
"""The body of a twin's forward(), and the verdict on it."""


@dataclass(frozen=True)
class Candidate:
    """A kernel of the field, or its hostile twin; `due` is the verdict of results/field.json, or that of such twins."""

    problem: str
    model: str
    source: str
    due: str
    hostile: bool

    @property
    def name(self) -> str:
        return f"{self.problem}/{self.model}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workspace", type=Path)
    parser.add_argument("--candidates", type=int, default=256)
    parser.add_argument("--beside", type=int, default=24)
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--file", type=Path, default=ROOT / "results/served.json")
    given = parser.parse_args()
    candidates = draw(given.workspace, given.candidates)
    with tempfile.TemporaryDirectory() as folder:
        door, beside = Path(folder) / "door", Path(folder) / "beside"
        lay_out(given.workspace, door, ())
        seconds, busy, judged = through_the_door(door, candidates, given.minutes)
        passed = [one for one in candidates if one.name in judged and not one.hostile and one.due == "passed"]
        lay_out(given.workspace, beside, passed[: given.beside])
        command = [sys.executable, "-m", "harness", "-C", str(beside), "compare", "--config", "step", "--quiet"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        compared = {f"{one.problem.name}/{one.solution.name}": one for one in read_journals(beside / "results")}
    found = {"gpus": _gpus(), **outcome(candidates, judged, compared, seconds, busy)}
    print(json.dumps(found, indent=1))
    runs = json.loads(given.file.read_text()) if given.file.exists() else []
    given.file.write_text(json.dumps([*runs, found], indent=1) + "\n")
    return int(bool(found["not_as_compare"]))


def draw(workspace: Path, count: int) -> list[Candidate]:
    rng = random.Random(20261128)
    rows = json.loads(FIELD.read_text())
    names = sorted(name for name in rows if name[:2] in ("l1", "l2"))
    rng.shuffle(names)
    return [_candidate(workspace, name, rows[name]["verdict"], number) for number, name in enumerate(names[:count])]


def _candidate(workspace: Path, name: str, verdict: str, number: int) -> Candidate:
    problem, model = name.split("/")
    source = (workspace / "solutions" / name / "solution.py").read_text()
    if hostile := number % 20 == 0:
        does, due = list(HOSTILE.values())[number // 20 % len(HOSTILE)]
        source += f"\n\ndef _twin(self, *inputs):\n    {does}\n\n\nModelNew.forward = _twin\n"
        verdict = due.value
    return Candidate(problem, model, source, verdict, hostile)


def lay_out(workspace: Path, target: Path, solutions: Iterable[Candidate]) -> None:
    shutil.copytree(workspace / "problems", target / "problems")
    (target / "configs").mkdir()
    (target / "configs/step.yaml").write_text(CONFIG)
    for one in solutions:
        shutil.copytree(workspace / "solutions" / one.name, target / "solutions" / one.name)


def through_the_door(
    workspace: Path, candidates: Sequence[Candidate], minutes: float
) -> tuple[float, float, dict[str, Evaluation]]:
    """Seconds from the first submission to the last verdict, the GPUs' mean use, and evaluations by name."""
    server, address = start(workspace, "--backend", "cuda", "--config", "step")
    smi = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "--loop=1"]
    meter = subprocess.Popen(smi, stdout=subprocess.PIPE, text=True)
    began = last = time.monotonic()
    try:
        with harness.connect(address) as client:
            asked = [client.submission(one.problem, one.source, name=one.model) for one in candidates]
            waiting = {job.id: one for job, one in zip(client.submit(asked), candidates, strict=True)}
            judged: dict[str, Evaluation] = {}
            while waiting and time.monotonic() - began < 60.0 * minutes:
                time.sleep(2.0)
                for job in [job for job in waiting if client.job(job).state in ENDED]:
                    judged[waiting.pop(job).name] = client.evaluation(job)
                    last = time.monotonic()
                    print(f"{last - began:5.0f} s: {len(judged)} of {len(candidates)}", flush=True)
    finally:
        meter.terminate()
        server.terminate()
        server.wait()
    shares = [float(line) for line in meter.communicate()[0].split()]
    return last - began, mean(shares), judged


def outcome(
    candidates: Sequence[Candidate],
    judged: dict[str, Evaluation],
    compared: dict[str, Evaluation],
    seconds: float,
    busy: float,
) -> dict[str, Any]:
    verdicts = {name: one.verdict.value for name, one in judged.items()}
    place = next(iter(judged.values())).environment
    pairs = [(judged[name], one) for name, one in compared.items()]
    speedups = [(one.timing.speedup, two.timing.speedup) for one, two in pairs if one.timing and two.timing]
    overlaps = [_overlap(one, two) for one, two in speedups if one and two]
    return {
        "place": {"torch": place.torch, "driver": place.driver, "cpu": place.cpu, "cpus": place.cpu_count},
        "handed_in": len(candidates),
        "judged": len(judged),
        "hostile": sum(one.hostile and one.name in judged for one in candidates),
        "seconds": round(seconds, 1),
        "seconds_each": round(seconds / len(judged), 2),
        "gpus_busy_percent": round(busy, 1),
        "verdicts": dict(Counter(verdicts.values()).most_common()),
        "not_as_due": {
            one.name: f"{one.due} → {verdicts[one.name]}"
            for one in candidates
            if one.name in judged and verdicts[one.name] != one.due
        },
        "beside": len(pairs),
        "not_as_compare": {
            f"{one.problem.name}/{one.solution.name}": f"{one.verdict.value} → {two.verdict.value}"
            for one, two in pairs
            if one.verdict != two.verdict
        },
        "intervals": len(overlaps),
        "overlapping": sum(overlaps),
        "step_of_768_s": round(STEP * seconds / len(judged)),
    }


def _gpus() -> list[str]:
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def _overlap(one: Interval, two: Interval) -> bool:
    return one.low <= two.high and two.low <= one.high


if __name__ == "__main__":
    sys.exit(main())
