"""The choice of an engine, and what a Ray cluster is asked for, without Ray."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.errors import MachineError, UsageError
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.job import make_job
from harness.run import session as session_module
from harness.run.engine import Engine, environments_of, open_session
from harness.run.executor import Ticket
from harness.run.ray_cluster import ClusterMachine, wishes
from harness.run.ray_session import _Keeper
from harness.store.journal import Journal
from harness.workspace.selection import select_tasks
from tests.examples import environment
from tests.workspace.made import made_workspace
from tests.workspace.test_problem import SOURCE

CPU = ClusterMachine("c" * 8, 32, 0, None)
H100 = ClusterMachine("h" * 8, 64, 8, "H100")
A100 = ClusterMachine("a" * 8, 64, 4, "A100")


def test_this_machine_is_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(session_module, "open_session", lambda *given, **more: asked.append((given, more)))
    open_session(Engine(), "sim", tmp_path, tmp_path, Config(), 5, print, keeps_source=False, jobs=3)
    (((backend, *_), more),) = asked
    assert backend == "sim"
    assert more == {"servers": None, "keeps_source": False, "jobs": 3}


def test_an_engine_that_there_isnt_is_refused() -> None:
    with pytest.raises(UsageError, match="local, ray"):
        Engine("slurm")  # type: ignore[arg-type]


def test_without_ray_its_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"kernel-harness\[ray\]"):
        open_session(Engine("ray"), "sim", tmp_path, tmp_path, Config(), None, print)
    with pytest.raises(UsageError, match=r"kernel-harness\[ray\]"):
        environments_of(Engine("ray"), "sim", tmp_path)


def test_a_cluster_that_there_isnt_is_a_wrong_option(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class FakeRay(ModuleType):
        util: Any = None

        def is_initialized(self) -> bool:
            return False

        def init(self, address: str, **options: Any) -> None:
            raise ConnectionError(f"nothing at {address}")

    for name in ("ray", "ray.util", "ray.util.scheduling_strategies"):
        monkeypatch.setitem(sys.modules, name, FakeRay(name))
    with pytest.raises(UsageError, match="nothing at"):
        environments_of(Engine("ray", "10.0.0.1:6379"), "sim", tmp_path)


def test_every_gpu_of_the_most_common_model_is_a_lane_and_machines_without_one_build() -> None:
    wanted = wishes("cuda", [CPU, A100, H100, replace(CPU, id="d" * 8)], None, None)
    lanes = [one for one in wanted if one.is_lane]
    assert len(lanes) == 8
    assert lanes[0].options == {"num_gpus": 1, "num_cpus": 0, "accelerator_type": "H100"}
    builders = [one for one in wanted if not one.is_lane]
    assert [(one.near, one.slots, one.options["num_cpus"]) for one in builders] == [
        ("cccccccc", 16, 32),
        ("dddddddd", 16, 32),
    ]


def test_a_model_can_be_named() -> None:
    wanted = wishes("cuda", [CPU, A100, H100], "A100", 3)
    assert [one.options.get("accelerator_type") for one in wanted] == ["A100"] * 4 + [None]
    assert wanted[-1].slots == 3
    with pytest.raises(MachineError, match="8 H100"):
        wishes("cuda", [CPU, H100], "B200", None)
    with pytest.raises(MachineError, match="no GPU"):
        wishes("cuda", [CPU], None, None)


def test_without_other_machines_those_with_gpus_build_on_the_cores_that_lanes_leave() -> None:
    wanted = wishes("cuda", [H100, replace(H100, id="few", cpus=34)], None, None)
    assert [(one.near, one.options["num_cpus"]) for one in wanted if not one.is_lane] == [("hhhhhhhh", 32)]


def test_the_simulator_needs_no_gpu() -> None:
    wanted = wishes("sim", [CPU, replace(CPU, id="small", cpus=1)], None, None)
    assert [one.is_lane for one in wanted] == [True, True, False]
    assert all(not one.options.get("num_gpus") for one in wanted)


def test_a_job_that_no_machine_could_judge_is_a_harness_error_with_each_attempt(tmp_path: Path) -> None:
    (task,) = select_tasks(made_workspace(tmp_path, "pool", SOURCE, {"one": "class ModelNew: ..."}))
    keeper = _Keeper(Journal(tmp_path, "run"), environment(), lambda job, what: None, print)
    given_up = keeper.give_up(Ticket(make_job("run", task, Config(), 1), lost=("gone", "gone again")), "three attempts")
    assert given_up.verdict is Verdict.HARNESS_ERROR
    assert len(given_up.remarks) == 2
