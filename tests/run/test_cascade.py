"""The simulator before a GPU: what it ends, what it lets go on, and what it says of that. The GPU is only a name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.build import BuildOutcome
from harness.builder.workers import Workers
from harness.errors import MachineError
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.job import Job, make_job
from harness.run import cascade as cascade_module
from harness.run import local
from harness.run.cache import cache_folder
from harness.run.cascade import Cascade, Simulated
from harness.run.local import Evaluating, run_tasks
from harness.run.threads import Shape
from harness.store.journal import Journal, read_journals
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.examples import environment
from tests.run.test_local import ScriptedLane, lanes_of
from tests.workspace.made import made_workspace

PROBLEM = """
import torch
import torch.nn as nn

rows = 64

class Model(nn.Module):
    def forward(self, x):
        return x * 2 + 1

def get_inputs():
    return [torch.rand(rows, 32)]

def get_init_inputs():
    return []
"""
SOLUTION = """
import torch
from torch.utils.cpp_extension import load_inline

CUDA = '''
#include <torch/extension.h>
__global__ void twice_kernel(const float* x, float* y, int count) {
    __shared__ float kept[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = i < count ? x[i] : 0.0f;
    if (i < count) y[i] = kept[threadIdx.x] * 2.0f + 1.0f;
}
torch::Tensor twice(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
'''
own = load_inline("own", "torch::Tensor twice(torch::Tensor x);", CUDA, functions=["twice"])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return own.twice(x)
"""
VALUE = "kept[threadIdx.x] * 2.0f + 1.0f"
SOLUTIONS = {
    "right": SOLUTION,
    "constant": SOLUTION.replace("2.0f", "3.0f"),
    "hair": SOLUTION.replace("2.0f", "2.0005f"),
    "no_barrier": SOLUTION.replace(VALUE, "kept[255 - threadIdx.x] * 2.0f + 1.0f"),
    "shape": SOLUTION.replace("own.twice(x)", "own.twice(x)[:1]"),
    "name": SOLUTION.replace("own.twice(x)", "others.twice(x)"),
    "no_class": SOLUTION.replace("ModelNew", "Modell"),
    "asks": SOLUTION.replace("2.0f", "3.0f") + "\ntorch.cuda.get_device_properties(0)\n",
    "swallows": "try:\n    import nothing\nexcept ImportError:\n    pass\n" + SOLUTION.replace("2.0f", "g(2)"),
    "assembler": SOLUTION.replace("int i =", 'asm volatile("");\n    int i ='),
}


HOST: Any = SimpleNamespace(name="cuda")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return made_workspace(tmp_path_factory.mktemp("cascade"), "twice", PROBLEM, SOLUTIONS)


@pytest.fixture(scope="module")
def cascade() -> Iterator[Cascade]:
    with Workers(HOST, cache_folder()) as workers:
        made = Cascade(workers, 2, lambda what: None)
        yield made
        made.close()


def job_of(workspace: Workspace, name: str) -> Job:
    (task,) = select_tasks(workspace, solutions=[name])
    return make_job("run", task, Config(), 5)


def judged(cascade: Cascade, workspace: Workspace, name: str) -> Simulated | None:
    return cascade.judge(job_of(workspace, name), BuildOutcome((), None, 1.5), environment())


@pytest.mark.heavy
@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("constant", Verdict.WRONG_VALUES),
        ("shape", Verdict.WRONG_SHAPE),
        ("name", Verdict.RUNTIME_ERROR),
        ("no_class", Verdict.LOAD_ERROR),
    ],
)
def test_what_is_surely_wrong_ends_before_the_gpu(
    cascade: Cascade, workspace: Workspace, name: str, verdict: Verdict
) -> None:
    simulated = judged(cascade, workspace, name)
    assert simulated is not None
    found = simulated.certain
    assert found is not None
    assert (found.verdict, found.decided_by) == (verdict, "simulator")
    assert (found.config, found.environment) == (Config(), environment())
    assert found.stages_s == {"build": 1.5, "simulator": simulated.seconds}
    assert found.seed != 5  # a GPU's inputs would be others


@pytest.mark.heavy
@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "said"), [("right", None), ("hair", "wrong_values"), ("no_barrier", "uninitialised-shared-read")]
)
def test_the_rest_goes_on_and_faults_are_said(
    cascade: Cascade, workspace: Workspace, name: str, said: str | None
) -> None:
    simulated = judged(cascade, workspace, name)
    assert simulated is not None
    assert simulated.certain is None
    assert (simulated.remark is None) if said is None else (said in (simulated.remark or ""))


@pytest.mark.heavy
@pytest.mark.sim
@pytest.mark.parametrize("name", ["asks", "swallows", "assembler"])
def test_of_what_cannot_be_simulated_or_depends_on_the_device_nothing_is_decided(
    cascade: Cascade, workspace: Workspace, name: str
) -> None:
    simulated = judged(cascade, workspace, name)
    assert simulated is None or simulated.certain is None


def test_a_solution_for_another_gpu_is_not_simulated(cascade: Cascade, workspace: Workspace) -> None:
    job = job_of(workspace, "constant")
    about = job.solution.about
    for other in (replace(about, needs_gpu=True), replace(about, compute_capability="10.0")):
        changed = replace(job, solution=replace(job.solution, about=other))
        assert cascade.judge(changed, BuildOutcome((), None, 1.5), environment()) is None


@pytest.mark.heavy
@pytest.mark.sim
def test_what_takes_too_long_goes_on(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascade_module, "build_job", lambda *_: BuildOutcome((), None, 0.0))
    with Workers(HOST, cache_folder()) as workers:
        made = Cascade(workers, 2, lambda what: None, budget_s=0.001)
        simulated = judged(made, workspace, "constant")
        made.close()
    assert simulated is not None
    assert (simulated.certain, simulated.remark) == (None, None)


def test_without_a_simulator_the_gpu_judges_and_that_is_said_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise MachineError("no g++")

    monkeypatch.setattr(cascade_module, "open_host", missing)
    said: list[str] = []
    made = Cascade(Workers(HOST, cache_folder()), 2, said.append)
    assert [judged(made, workspace, "constant") for _ in range(2)] == [None, None]
    assert len(said) == 1
    assert "no g++" in said[0]


@pytest.mark.parametrize(("cores", "at_once", "threads"), [(2, 2, 1), (14, 2, 3), (56, 7, 4)])
def test_more_cores_simulate_more_solutions_at_once(cores: int, at_once: int, threads: int) -> None:
    made = Cascade(Workers(HOST, cache_folder()), cores, print)
    lanes = [lane for lane, _ in made._lanes]
    assert len(lanes) == made._free.qsize() == at_once
    assert {lane._variables["OMP_NUM_THREADS"] for lane in lanes} == {str(threads)}


@pytest.mark.sim
def test_in_a_run_only_what_may_be_right_comes_to_the_gpu(
    cascade: Cascade, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "build_job", lambda *_: BuildOutcome((), None, 1.5))  # nvcc takes everything
    lane = ScriptedLane()
    lanes = lanes_of(tmp_path, None, only=lane)
    journal = Journal(tmp_path / "results", "run")
    stages = Evaluating(lanes, "run", Config(), 1, lambda job, what: None, journal, cascade)
    tasks = [task for task in select_tasks(workspace) if task.solution.name in ("constant", "right", "shape")]
    found = {one.solution.name: one.decided_by for one in run_tasks(tasks, stages, Shape(3, 1, 8))}
    assert lane.judged == ["right"]
    assert found == {"constant": "simulator", "right": "device", "shape": "simulator"}
    assert {one.decided_by for one in read_journals(tmp_path / "results")} == {"simulator", "device"}
