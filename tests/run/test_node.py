"""A cluster's executors on their nodes, without the cluster: a builder and a lane share nothing but what is sent."""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.job import make_job
from harness.run.cache import cache_folder
from harness.run.executor import Ticket
from harness.run.node import ExecutorFacts, Node, NodeSettings
from harness.workspace.selection import select_tasks
from harness.workspace.source_hash import hashed_files, judged_files
from tests.run.test_cascade import PROBLEM, SOLUTION
from tests.workspace.made import made_workspace

SOLUTIONS = {"right": SOLUTION, "refused": SOLUTION.replace("+ 1.0f;", "+ 1.0f")}
PLACES = NodeSettings("sim", Config().but("nvcc", enabled=False), "0123456789ab")


@pytest.fixture
def tickets(tmp_path: Path) -> dict[str, Ticket]:
    """Tickets as they arrive at a node: what they were made of is gone."""
    root = tmp_path / "workspace"
    made = {}
    for task in select_tasks(made_workspace(root, "twice", PROBLEM, SOLUTIONS)):
        files = {name: path.read_bytes() for name, path in judged_files(task.solution.folder).items()}
        made[task.solution.name] = Ticket(make_job("run", task, PLACES.config, 7), "", files)
    problem = {name: path.read_bytes() for name, path in hashed_files(root / "problems/twice").items()}
    root.rename(tmp_path / "gone")
    return {name: pickle.loads(pickle.dumps(replace(one, problem_files=problem))) for name, one in made.items()}


def opened(node: Node) -> ExecutorFacts:
    facts = node.describe()
    assert facts.trouble is facts.usage is None
    assert facts.environment is not None
    assert facts.environment.commit == "0123456789ab"
    return facts


@pytest.mark.heavy
@pytest.mark.sim
def test_what_a_builder_makes_is_judged_on_another_machine(
    tickets: dict[str, Ticket], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, refused = tickets["right"], tickets["refused"]
    cache = tmp_path / "cache"
    cache.mkdir()
    for toolkit in cache_folder().glob("sim-*"):
        (cache / toolkit.name).symlink_to(toolkit)
    monkeypatch.setenv("HARNESS_CACHE", str(cache))
    with ExitStack() as stack:
        stack.callback((lane := Node(PLACES)).stop)
        facts = opened(lane)
        stack.callback((builder := Node(replace(PLACES, environment=facts.environment))).stop)
        assert opened(builder).compilers == facts.compilers

        answer, _ = builder.build(refused, refused.problem_files)
        assert answer.evaluation is not None
        assert answer.evaluation.verdict is Verdict.COMPILE_ERROR, answer.evaluation.failure

        answer, parcel = pickle.loads(pickle.dumps(builder.build(right, right.problem_files)))
        assert any(name.endswith(".so") for name in parcel)
        (cache / "extensions").rename(tmp_path / "cache of another machine")
        answer = lane.judge(replace(right, built=answer.built), right.problem_files, parcel)
        judged = pickle.loads(pickle.dumps(answer)).evaluation
        assert judged.verdict is Verdict.PASSED, judged.failure
        assert judged.environment == facts.environment
        assert answer.trouble is None

        alone = lane.judge(refused, refused.problem_files, {}).evaluation
        assert alone is not None
        assert alone.verdict is Verdict.COMPILE_ERROR
