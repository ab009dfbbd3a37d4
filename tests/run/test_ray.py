"""Runs on a real Ray cluster of simulated machines; where Ray isn't installed they are skipped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.run.ray_session import open_ray_session
from harness.store.journal import read_journals
from harness.workspace.selection import select_tasks
from tests.scripts import script
from tests.workspace.made import made_workspace

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

RIGHT = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.relu()\n"
WRONG = RIGHT.replace("x.relu()", "x * 2")
RELU = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(64)]
def get_init_inputs():
    return []
"""


def test_actors_and_machines_die_and_no_job_is_lost_or_judged_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of benchmarks/scale.py."""
    scale: Any = script("scale")
    monkeypatch.setattr(scale, "BACK_S", 0.5)
    row = scale.measure(scale.Row(nodes=2, jobs=400, kills=4))
    assert (row["lost_jobs"], row["judged_twice"], row["given_up"]) == (0, 0, 0)
    assert (row["actors_killed"], row["machines_killed"]) == (3, 1)
    assert row["with_a_second_attempt"] >= 1
    assert not ray.is_initialized()


@pytest.mark.sim
@pytest.mark.heavy
def test_solutions_are_judged_in_actors_as_on_this_machine_and_nothing_stays_behind(tmp_path: Path) -> None:
    workspace = made_workspace(tmp_path, "relu", RELU, {"right": RIGHT, "wrong": WRONG})
    tasks = select_tasks(workspace)
    said: list[str] = []
    lost = threading.Event()
    with open_ray_session("local", "sim", tmp_path, tmp_path / "results", Config(), 7, said.append) as session:
        (lane,) = [executor for executor in session.executors if executor.is_lane]

        def observe(job: Any, what: str) -> None:
            if what.startswith("judging") and not lost.is_set():
                lost.set()
                lane.end()

        found = {one.solution.name: one for one in session.evaluate(tasks, observe)}
    assert {name: one.verdict for name, one in found.items()} == {
        "right": Verdict.NO_CUSTOM_KERNEL,
        "wrong": Verdict.WRONG_VALUES,
    }
    assert sum(remark.startswith("attempt 2") for one in found.values() for remark in one.remarks) == 1
    assert any(words.startswith("lost: ") for words in said)
    kept = {one.id: one for one in read_journals(tmp_path / "results")}
    assert sorted(kept) == sorted(one.id for one in found.values())
    assert {one.environment.fingerprint for one in kept.values()} == {session.environment.fingerprint}
    assert not ray.is_initialized()
