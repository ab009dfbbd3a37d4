"""A proof that `harness serve` loses no job and repeats no verdict, however often it is killed.

A server on the simulator gets jobs, some of them again under the same key, and is killed (SIGKILL, its workers with it)
at random moments until all are judged. Then every job must have one verdict, the right one, and one record in the
journal. Before that, thousands of submissions come at once. The figures go to results/serving.json.

    python benchmarks/serving.py [--kills 100] [--jobs 4000] [--at-once 10000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import harness  # noqa: E402
from harness.store.journal import read_journals  # noqa: E402

RESULTS = ROOT / "results/serving.json"
PROBLEM = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x

def get_inputs():
    return [torch.randn(256)]

def get_init_inputs():
    return []
"""
SOLUTION = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x * {}  # {}\n"
RIGHT, WRONG = "no_custom_kernel", "wrong_values"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=4_000)
    parser.add_argument("--at-once", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        crowd = at_once(_workspace(Path(folder) / "crowd"), options.at_once)
        killed = with_kills(_workspace(Path(folder) / "kills"), options.jobs, options.kills)
    print(json.dumps(found := {"at_once": crowd, "kills": killed}, indent=2))
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    faults = (killed["lost"], killed["twice"], killed["wrong"], crowd["lost"])
    return int(any(faults))


def at_once(workspace: Path, count: int) -> dict[str, float]:
    """Hand in so many jobs from ten threads; none may be lost or be there twice."""
    server, address = start(workspace, "--backend", "sim")

    def hand_in(number: int) -> list[str]:
        with harness.connect(address) as client:
            asked = [_asked(client, number * 1_000 + n) for n in range(count // 10)]
            return [job.id for start in range(0, len(asked), 250) for job in client.submit(asked[start : start + 250])]

    began = time.monotonic()
    with ThreadPoolExecutor(10) as pool:
        ids = [job for each in pool.map(hand_in, range(10)) for job in each]
    seconds = time.monotonic() - began
    kill(server)
    return {"jobs": len(ids), "lost": count - len(set(ids)), "seconds": round(seconds, 2)}


def with_kills(workspace: Path, jobs: int, kills: int) -> dict[str, float]:
    draw = random.Random(20261125)
    server, address = start(workspace, "--backend", "sim")
    with harness.connect(address) as client:
        asked = [_asked(client, number) for number in range(jobs)]
        pieces = [asked[start : start + 500] for start in range(0, jobs, 500)]
        ids = [job.id for piece in pieces for job in client.submit(piece)]
        assert [job.id for job in client.submit(pieces[0])] == ids[: len(pieces[0])]
    began, done = time.monotonic(), 0
    for number in range(kills):
        time.sleep(draw.uniform(0.2, 6.0))
        kill(server)
        server, address = start(workspace, "--backend", "sim")
        with urllib.request.urlopen(f"{address}/health") as answer:
            done = json.load(answer)["jobs"].get("done", 0)
        print(f"kill {number + 1}: {done} of {jobs} judged", flush=True)
    with harness.connect(address) as client:
        found = [client.evaluation(job) for job in ids]
        attempts = Counter(client.job(job).attempts for job in ids)
    kill(server)
    kept = Counter(one.id for one in read_journals(workspace / "results"))
    expected = [RIGHT if number % 2 else WRONG for number in range(jobs)]
    return {
        "kills": kills,
        "jobs": jobs,
        "lost": sum(kept[one.id] == 0 for one in found),
        "twice": sum(count - 1 for count in kept.values()) + len(kept) - jobs,
        "wrong": sum(one.verdict.value != right for one, right in zip(found, expected, strict=True)),
        "judged_before_the_last_kill": done,
        "most_attempts": max(attempts),
        "seconds": round(time.monotonic() - began, 1),
    }


def start(workspace: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "harness", "-C", str(workspace), "serve", "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert server.stderr is not None
    line = server.stderr.readline()
    address = re.search(r"http://\S+:\d+", line)
    assert address is not None, line
    return server, address[0]


def kill(server: subprocess.Popen[str]) -> None:
    server.send_signal(signal.SIGKILL)
    server.wait()


def _asked(client: harness.Client, number: int) -> Any:
    text = SOLUTION.format(2 if number % 2 else 3, number)
    return client.submission("double", text, name=f"solution_{number}", key=f"key {number}")


def _workspace(folder: Path) -> Path:
    (folder / "problems/double").mkdir(parents=True)
    (folder / "problems/double/problem.py").write_text(PROBLEM)
    return folder


if __name__ == "__main__":
    sys.exit(main())
