"""Which lanes a session has, with GPUs that are only names."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.workers import Workers
from harness.devices.cuda import gpus as gpus_module
from harness.devices.cuda.gpus import Gpu
from harness.run import session as session_module
from harness.run.cores import Cores
from harness.run.gpu_lock import GpuLock
from harness.run.lane import LocalLane, ProcessLane
from tests.examples import environment

H100 = "NVIDIA H100, 81559 MiB, 9.0"


def lanes(monkeypatch: pytest.MonkeyPatch, folder: Path, count: int, wanted: int | None = None) -> Any:
    """The lanes of a machine with so many GPUs and 16 cores."""
    monkeypatch.setenv("HARNESS_LOCKS", str(folder))
    monkeypatch.setattr(gpus_module, "equal_gpus", lambda: [Gpu(i, H100, f"GPU-000{i}") for i in range(count)])
    monkeypatch.setattr(session_module, "core_groups", lambda: [frozenset({cpu}) for cpu in range(16)])
    monkeypatch.setattr(session_module, "cpu_quota", lambda: None)
    host: Any = SimpleNamespace(name="cuda")
    return session_module._gpu_lanes(Workers(host, folder), environment(), wanted)


def test_one_gpu_is_judged_on_in_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = lanes(monkeypatch, tmp_path, 1)
    assert list(made.by_name) == ["GPU 0"]
    assert isinstance(made.by_name["GPU 0"], LocalLane)
    assert made.by_name["GPU 0"].lock == GpuLock("GPU-0000", "GPU 0", tmp_path)
    assert made.cores.builds == frozenset(range(2, 16))


def test_each_of_several_gpus_has_a_process_that_sees_it_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = lanes(monkeypatch, tmp_path, 3)
    assert list(made.by_name) == ["GPU 0", "GPU 1", "GPU 2"]
    assert all(isinstance(lane, ProcessLane) for lane in made.by_name.values())
    assert [lane._variables for lane in made.by_name.values()] == [
        {"CUDA_VISIBLE_DEVICES": "GPU-0000"},
        {"CUDA_VISIBLE_DEVICES": "GPU-0001"},
        {"CUDA_VISIBLE_DEVICES": "GPU-0002"},
    ]
    assert [lane._settings.cpus for lane in made.by_name.values()] == [{0, 1}, {2, 3}, {4, 5}]
    assert [lane._settings.lock.key for lane in made.by_name.values()] == ["GPU-0000", "GPU-0001", "GPU-0002"]


def test_a_gpu_that_another_run_holds_comes_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with GpuLock("GPU-0000", "GPU 0", tmp_path).held(threading.Event(), lambda what: None):
        assert list(lanes(monkeypatch, tmp_path, 2).by_name) == ["GPU 1", "GPU 0"]
        alone = lanes(monkeypatch, tmp_path, 2, wanted=1)
    assert list(alone.by_name) == ["GPU 1"]
    assert isinstance(alone.by_name["GPU 1"], ProcessLane)  # torch sees another one first here


def test_no_more_lanes_than_tasks_and_builds_on_half_of_their_cores(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = lanes(monkeypatch, tmp_path, 3)
    shape = made.shape(2, None)
    assert (shape.lanes, shape.builders, shape.alternates) == (2, 2, False)
    shape = made.shape(100, None)
    assert (shape.lanes, shape.builders, shape.ahead) == (3, 5, 16)
    assert made.shape(100, 20).builders == 20


@pytest.mark.parametrize("visible", ["", "3,5"])
def test_a_gpu_is_named_as_the_whole_machine_knows_it(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert Gpu(1, H100, "GPU-0001").variables == {"CUDA_VISIBLE_DEVICES": "GPU-0001"}


def test_the_simulator_judges_first_where_builds_have_cores_of_their_own(tmp_path: Path) -> None:
    host: Any = SimpleNamespace(name="cuda")
    workers = Workers(host, tmp_path)
    divided = Cores((frozenset({0, 1}),), frozenset(range(2, 16)), 16)
    assert session_module._cascade(workers, divided, lambda what: None) is not None
    assert session_module._cascade(workers, Cores(None, None, 3), lambda what: None) is None
    assert session_module._cascade(workers, None, lambda what: None) is None
