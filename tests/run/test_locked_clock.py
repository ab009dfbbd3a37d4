"""A lane locks the clock while a solution is on its GPU, over an NVML by a script: no real clock is changed."""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.builder.workers import Workers
from harness.devices.cuda import gpus as gpus_module
from harness.devices.cuda import nvml as nvml_module
from harness.devices.cuda.clocks import SmClock
from harness.errors import MachineError, UsageError
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation
from harness.run import lane as lane_module
from harness.run import session as session_module
from harness.run.gpu_lock import GpuLock
from harness.run.lane import Assignment, LocalLane
from tests.examples import environment, passed
from tests.scripted_nvml import GPU, NO_PERMISSION, UUID, ScriptedNvml

LOCK, RESET = ("lock", UUID, 1410, 1410), ("reset", UUID)


@dataclass(frozen=True)
class OneGpu:
    """A lane on a GPU that is only a script; `evaluated` holds what had been done to its clock by each evaluation."""

    nvml: ScriptedNvml
    lane: LocalLane
    evaluated: list[list[Any]]
    ceilings: list[tuple[Any, ...]]
    """With what driver they were asked for, and what had been done to the clock by then."""

    def evaluate(self, config: Config) -> list[str]:
        """What was said meanwhile."""
        return self.judge(config)[1]

    def judge(self, config: Config) -> tuple[Evaluation, list[str]]:
        said: list[str] = []
        assignment: Any = Assignment(SimpleNamespace(config=config), None, environment(driver="580.65"))  # type: ignore[arg-type]
        return self.lane.evaluate(assignment, said.append), said


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> OneGpu:
    nvml = ScriptedNvml()
    evaluated: list[list[Any]] = []
    ceilings: list[tuple[Any, ...]] = []

    def evaluate(job: object, workers: object, environment: Environment, *others: object) -> Evaluation:
        evaluated.append(list(nvml.calls))
        return passed(environment=environment)

    monkeypatch.setattr(nvml_module, "equal_gpus", lambda: [GPU])
    monkeypatch.setattr(gpus_module, "equal_gpus", lambda: [GPU])
    monkeypatch.setattr(gpus_module, "gpu_uuid", lambda: UUID)
    monkeypatch.setattr(nvml_module, "load_library", lambda: nvml)
    monkeypatch.setattr(lane_module, "evaluate", evaluate)
    monkeypatch.setattr(lane_module, "device_ceilings", lambda cache, driver: ceilings.append((driver, *nvml.calls)))
    host: Any = SimpleNamespace(name="cuda", free_bytes=lambda: None)
    lane = LocalLane(Workers(host, tmp_path), GpuLock(UUID, "GPU 0", tmp_path))
    return OneGpu(nvml, lane, evaluated, ceilings)


def test_the_clock_is_locked_while_a_solution_is_on_the_gpu(one_gpu: OneGpu) -> None:
    one_gpu.evaluate(Config().but("timing", lock_sm_mhz=1410))
    one_gpu.evaluate(Config().but("timing", lock_sm_mhz=1410))
    assert one_gpu.evaluated == [[LOCK], [LOCK, RESET, LOCK]]
    assert one_gpu.nvml.calls == [LOCK, RESET, LOCK, RESET]


def test_ceilings_are_measured_before_the_clock_is_locked_and_anybody_is_there(one_gpu: OneGpu) -> None:
    one_gpu.evaluate(Config().but("timing", lock_sm_mhz=1410))
    assert one_gpu.ceilings == [("580.65",)]
    one_gpu.evaluate(Config().but("timing", enabled=False))
    assert len(one_gpu.ceilings) == 1


def test_ceilings_are_measured_when_a_lane_opens_unless_others_hold_the_gpu(one_gpu: OneGpu) -> None:
    assert one_gpu.lane.lock is not None
    with one_gpu.lane.lock.held(threading.Event(), lambda what: None):
        one_gpu.lane.open(Config(), environment(driver="580.65"))
    assert one_gpu.ceilings == []
    one_gpu.lane.open(Config().but("timing", lock_sm_mhz=1410), environment(driver="580.65"))
    assert one_gpu.ceilings == [("580.65",)]
    assert one_gpu.nvml.calls == []


def test_who_waits_for_the_gpu_gets_it_when_nobody_starts_up_any_more(
    one_gpu: OneGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = itertools.cycle([False, True])
    awaited: list[None] = []
    monkeypatch.setattr(GpuLock, "is_wanted", lambda lock: next(waits))
    monkeypatch.setattr(Workers, "await_idle", lambda workers: awaited.append(None))
    one_gpu.evaluate(Config())
    assert len(awaited) == 0
    one_gpu.evaluate(Config())
    assert len(awaited) == 1


@pytest.mark.parametrize("config", [Config(), Config().but("timing", lock_sm_mhz=1410).but("timing", enabled=False)])
def test_clocks_are_left_alone_unless_asked_for(one_gpu: OneGpu, config: Config) -> None:
    one_gpu.evaluate(config)
    assert (one_gpu.evaluated, one_gpu.nvml.calls) == ([[]], [])


def test_the_next_run_resets_what_a_killed_one_left_locked(one_gpu: OneGpu, tmp_path: Path) -> None:
    SmClock(UUID, tmp_path)._leave_note(1410)
    said = one_gpu.evaluate(Config())
    assert one_gpu.evaluated == [[RESET]]
    (what,) = said
    assert "1410 MHz" in what
    assert "reset" in what


def test_nothing_is_measured_where_the_clock_cannot_be_locked(one_gpu: OneGpu) -> None:
    one_gpu.nvml.told["SetGpuLockedClocks"] = NO_PERMISSION
    with pytest.raises(MachineError, match="needs root"):
        one_gpu.evaluate(Config().but("timing", lock_sm_mhz=1410))
    assert one_gpu.evaluated == []


def test_a_clock_that_does_not_exist_is_refused_before_anything_is_built(one_gpu: OneGpu, tmp_path: Path) -> None:
    one_gpu.nvml.told.update(GetSupportedMemoryClocks=(2619,), GetSupportedGraphicsClocks={2619: (1395, 1410)})
    with pytest.raises(UsageError, match=r"1400 MHz.* 1395, 1410"):
        session_module._require_clock(1400, tmp_path)
    session_module._require_clock(1410, tmp_path)
    assert one_gpu.nvml.calls == []


def test_the_record_names_the_gpu_of_the_lane(one_gpu: OneGpu) -> None:
    evaluation, _ = one_gpu.judge(Config())
    assert evaluation.environment.gpu_uuid == UUID
