"""What only a GPU can show: all baselines in one timing, the lock around a measurement, several GPUs at once."""

from __future__ import annotations

import re
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.model.arms import BASELINES, Baseline
from harness.model.config import Config, CorrectnessConfig, TimingConfig
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.referee.buffers import slots
from harness.run.gpu_lock import GpuLock
from harness.run.session import open_session
from harness.workspace.selection import select_tasks
from harness.workspace.workspace import Workspace
from tests.workspace.made import made_workspace

pytestmark = pytest.mark.gpu

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, 16, 3, bias=False)

    def forward(self, x):
        return torch.relu(self.conv(x))

size = 128

def get_inputs():
    return [torch.rand(8, 16, size, size)]

def get_init_inputs():
    return [16]
"""


KERNEL = """
from torch.utils.cpp_extension import load_inline

CUDA = '''
#include <ATen/cuda/CUDAContext.h>
#include <torch/types.h>

__global__ void relu_kernel(float* x, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) x[i] = x[i] < 0.0f ? 0.0f : x[i];
}

torch::Tensor relu_(torch::Tensor x) {
    relu_kernel<<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(x.data_ptr<float>(), x.numel());
    return x;
}
'''

own = load_inline("own", "torch::Tensor relu_(torch::Tensor x);", CUDA, functions=["relu_"])
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A convolution with a ReLU, and two solutions that do the ReLU in a kernel of their own."""
    solution = KERNEL + PROBLEM.replace("class Model(", "class ModelNew(").replace("torch.relu(", "own.relu_(")
    made = made_workspace(tmp_path, "conv", PROBLEM, dict.fromkeys(("same", "same_again"), solution))
    (tmp_path / "problems" / "conv" / "problem.yaml").write_text("precision: tf32\nindependent_batch: true\n")
    return made


def config(*baselines: Baseline) -> Config:
    timing = TimingConfig(baselines=baselines, warmup_turns=1, blocks=6, calls_per_turn=3, checked_turns=1)
    return Config(correctness=CorrectnessConfig(seeds=1), timing=timing)


def evaluated(workspace: Workspace, settings: Config, observe: Any, **options: Any) -> list[Evaluation]:
    tasks = select_tasks(workspace)
    with open_session("cuda", workspace.root, workspace.results, settings, 1, lambda what: None, **options) as session:
        return list(session.evaluate(tasks, observe))


def test_every_baseline_takes_turns_with_the_solution(workspace: Workspace) -> None:
    for evaluation in evaluated(workspace, config(*BASELINES), lambda job, what: None, lanes=1):
        assert evaluation.verdict is Verdict.PASSED, evaluation.failure
        assert (evaluation.environment.gpu_uuid or "").startswith("GPU-")
        assert [remark for remark in evaluation.remarks if "left out" in remark] == []
        assert evaluation.timing is not None
        assert evaluation.timing.baselines == BASELINES
        for baseline in BASELINES:
            assert evaluation.timing.speedup_over(baseline) is not None
        assert evaluation.timing.arms == (*BASELINES, "control", "solution")
        assert len(evaluation.timing.turns) == 6 * 2 * len(evaluation.timing.arms)
        assert [one.baseline for one in evaluation.compiled] == ["compile", "compile-max-autotune"]
        for one in evaluation.compiled:
            assert one.compile_s > 0.1
            assert (one.graphs, one.graph_breaks, one.recompilations) == (1, 0, 0)
        assert [remark for remark in evaluation.remarks if "flags" in remark] == []
        assert evaluation.work is not None
        assert evaluation.work.operations == 2 * 8 * 16 * 126 * 126 * 16 * 9
        assert evaluation.speed_of_light is not None
        assert evaluation.share_of_light is not None
        assert 0 < evaluation.share_of_light < 1


def test_baselines_stay_for_the_next_solution_of_the_problem_until_the_last(workspace: Workspace) -> None:
    wrong = workspace.root / "solutions" / "conv" / "wrong"
    wrong.mkdir()
    right = (workspace.root / "solutions" / "conv" / "same" / "solution.py").read_text()
    (wrong / "solution.py").write_text(right.replace("x[i] < 0.0f ? 0.0f", "x[i] < 0.5f ? 0.0f"))
    settings = config("eager", "compile")
    settings = replace(settings, timing=replace(settings.timing, metrics=()))
    tasks = select_tasks(workspace)
    results, options = workspace.results, {"lanes": 1, "jobs": 1}
    with open_session("cuda", workspace.root, results, settings, 1, lambda what: None, **options) as session:
        found = {one.solution.name: one for one in session.evaluate(tasks, lambda job, what: None)}
        assert session.lanes.builders.idle == []
    assert {name: one.verdict.value for name, one in found.items()} == {
        "same": "passed",
        "same_again": "passed",
        "wrong": "wrong_values",
    }
    same, again = found["same"], found["same_again"]
    assert same.tolerances == again.tolerances
    assert [one.compile_s for one in same.compiled] == [one.compile_s for one in again.compiled] != []
    assert min(one.stages_s["timing"] for one in (same, again)) < same.compiled[0].compile_s


def test_a_gpu_that_another_run_holds_is_waited_for(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.devices.cuda.gpus import equal_gpus

    monkeypatch.setenv("HARNESS_LOCKS", str(tmp_path))
    told: list[str] = []
    with ExitStack() as other_run:
        for gpu in equal_gpus():
            other_run.enter_context(GpuLock(gpu.uuid, "a GPU", tmp_path).held(threading.Event(), told.append))

        def observe(job: object, what: str) -> None:
            if what.startswith("waiting"):
                told.append(what)
                other_run.close()

        evaluations = evaluated(workspace, config("eager"), observe, lanes=1)
    assert [evaluation.verdict for evaluation in evaluations] == [Verdict.PASSED] * 2
    assert len(told) == 1
    assert re.match(r"waiting .*GPU \d+, .*pid ", told[0])


def test_every_gpu_measures_one_solution_at_a_time(workspace: Workspace) -> None:
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU: two are needed")
    seen: set[str] = set()
    evaluations = evaluated(workspace, config("eager"), lambda job, what: seen.add(what.rpartition(" on ")[2]), lanes=2)
    assert [evaluation.verdict for evaluation in evaluations] == [Verdict.PASSED] * 2
    assert {"GPU 0", "GPU 1"} <= seen
    assert len({evaluation.environment.gpu_uuid for evaluation in evaluations}) == 2
    for evaluation in evaluations:
        assert evaluation.timing is not None
        assert evaluation.timing.speedup is not None
        assert 0.5 < evaluation.timing.speedup.estimate < 2  # the same convolution, a ReLU of its own


HOLD = """
import torch as _torch
_kept = []

def _hold():
    for size in (2**30, 2**26, 2**21):
        try:
            while True:
                _kept.append(_torch.empty(size, dtype=_torch.uint8, device="cuda"))
        except _torch.OutOfMemoryError:
            pass
"""


@pytest.mark.parametrize("when", ["on import", "in forward"])
def test_a_solution_that_takes_the_others_memory_is_out_of_memory(workspace: Workspace, when: str) -> None:
    solution = workspace.root / "solutions" / "conv" / "same" / "solution.py"
    if when == "on import":
        solution.write_text(solution.read_text() + HOLD + "_hold()\n")
    else:
        greedy = solution.read_text().replace(
            "return own.relu_(self.conv(x))", "y = own.relu_(self.conv(x)); _kept or _hold(); return y"
        )
        solution.write_text(greedy + HOLD)
    task = select_tasks(workspace, solutions=["same"])
    with open_session("cuda", workspace.root, workspace.results, config("eager"), 1, lambda what: None, lanes=1) as run:
        (evaluation,) = run.evaluate(task, lambda job, what: None)
    assert evaluation.verdict is Verdict.OUT_OF_MEMORY, evaluation.failure


def test_who_keeps_outputs_that_are_too_large_to_be_kept_twice_is_remarked_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """same_again returns one piece of memory at every call, as a new tensor with a new storage."""
    solution = workspace.root / "solutions" / "conv" / "same_again" / "solution.py"
    wrapping = (
        "y = own.relu_(self.conv(x)); self.kept = getattr(self, 'kept', y); self.kept.copy_(y); "
        "return torch.from_dlpack(self.kept)"
    )
    text = solution.read_text()
    assert "return own.relu_(self.conv(x))" in text
    solution.write_text(text.replace("return own.relu_(self.conv(x))", wrapping))
    monkeypatch.setattr(slots, "_KEPT_SHARE", 0.0)
    remarks = {}
    for evaluation in evaluated(workspace, config("eager"), lambda job, what: None, lanes=1):
        assert evaluation.verdict is Verdict.PASSED, evaluation.failure
        remarks[evaluation.solution.name] = [
            one for one in evaluation.remarks if "torch's allocator their memory" in one
        ]
    assert remarks["same"] == []
    assert len(remarks["same_again"]) == 1


def test_a_fork_server_leaves_the_gpu_alone(workspace: Workspace) -> None:
    import torch

    session = open_session("cuda", workspace.root, workspace.results, config("eager"), 1, lambda what: None, lanes=1)
    with session:
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0]
        with session.lanes.builders.start() as worker:
            worker.kill()
        assert before - torch.cuda.mem_get_info()[0] < 2**24
