"""Watching turns, over an NVML by a script and a pause that the test lets pass; and what a real GPU says."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest
import torch

from harness.devices.cuda import nvml as nvml_module
from harness.devices.cuda.telemetry import Telemetry
from harness.model.timing import GpuState
from tests.scripted_nvml import NvmlError, ScriptedNvml, process
from tests.wording import tells


class ScriptedPause:
    """Lets so many samples be taken in each watch, and then waits for its end. `done`: they have been."""

    def __init__(self, samples: int) -> None:
        self.done = threading.Event()
        self._samples = samples
        self._count = 0

    def __call__(self, ended: threading.Event) -> bool:
        self._count += 1
        if self._count <= self._samples:
            return False
        self._count = 0
        self.done.set()
        return ended.wait()


def telemetry(nvml: ScriptedNvml, pause: ScriptedPause) -> Telemetry:
    return Telemetry(nvml.opened, pause)


def state_of(nvml: ScriptedNvml, samples: int) -> GpuState | None:
    """Of one turn during which so many samples are taken."""
    pause = ScriptedPause(samples)
    with telemetry(nvml, pause) as of_run:
        with of_run.watch() as watch:
            assert pause.done.wait(60)
        return watch.state()


def test_a_turns_extremes_and_every_reason_are_kept() -> None:
    """The first ten samples may be of what was before the turn."""
    nvml = ScriptedNvml(
        SmClock=[*[345] * 10, 1980, 1755, 1830],
        MemoryClock=[*[2619] * 12, 1593],
        FieldValues=[*[990_000] * 10, 350_000, 698_500, 640_000],
        GetTemperature=[*[60] * 10, 48, 49, 51],
        GetCurrentClocksEventReasons=[*[0x40] * 10, 0x0, 0x4, 0x20],
        GetComputeRunningProcesses=[process(os.getpid(), 600), process(1, 700)],
    )
    assert state_of(nvml, samples=20) == GpuState(
        sm_mhz=(1755, 1980),
        memory_mhz=1593,
        power_w=698.5,
        temperature_c=51,
        throttled=("sw power cap", "sw thermal slowdown"),
        other_processes=1,
    )


def test_what_the_driver_does_not_tell_is_none() -> None:
    assert state_of(ScriptedNvml(), samples=2) == GpuState()


@pytest.mark.parametrize(
    ("clock", "samples", "mhz"),
    [
        ([*[1410] * 10, 1980, NvmlError(999, "Unknown Error"), 1965], 13, (1965, 1980)),
        ([1410, 1980], 2, (1980, 1980)),  # of a short turn the last sample counts
        (1410, 0, (1410, 1410)),  # a turn shorter than the interval has the sample of its end
    ],
)
def test_failed_readings_and_short_turns_spoil_nothing(clock: Any, samples: int, mhz: tuple[int, int]) -> None:
    assert state_of(ScriptedNvml(SmClock=clock), samples) == GpuState(sm_mhz=mhz)


def test_a_watch_after_another_starts_anew() -> None:
    pause = ScriptedPause(20)
    nvml = ScriptedNvml(SmClock=[*[1980] * 20, 1410])
    with telemetry(nvml, pause) as of_run:
        states = []
        for _ in range(2):
            with of_run.watch() as watch:
                assert pause.done.wait(60)
            pause.done.clear()
            states.append(watch.state())
    assert states == [GpuState((1980, 1980)), GpuState((1410, 1410))]


@pytest.mark.parametrize("end", [KeyboardInterrupt, RuntimeError])
def test_the_thread_ends_with_the_turn_however_that_ends(end: type[BaseException]) -> None:
    nvml = ScriptedNvml(SmClock=1980)
    at_work: list[str] = []
    with pytest.raises(end), telemetry(nvml, ScriptedPause(1)) as of_run, of_run.watch():  # noqa: PT012
        at_work += [thread.name for thread in threading.enumerate()]
        raise end
    assert "telemetry" in at_work
    assert "telemetry" not in [thread.name for thread in threading.enumerate()]
    assert nvml.users == 0


@pytest.mark.parametrize("listed", [None, [], [process(1, 600)]])
def test_where_our_own_process_is_not_listed_others_are_not_known(listed: Any) -> None:
    told = {} if listed is None else {"GetComputeRunningProcesses": listed}
    pause = ScriptedPause(0)
    with telemetry(ScriptedNvml(**told), pause) as of_run:
        for _ in range(2):
            with of_run.watch() as watch:
                pass
            state = watch.state()
            assert state is not None
            assert state.other_processes is None
    (remark,) = of_run.remarks
    assert tells(remark, "other programs", "isn't known")


@pytest.mark.parametrize(("pid", "most"), [(7, 3 * 2**30), (8, None), (9, None), (None, None)])
def test_the_memory_of_a_process(pid: int | None, most: int | None) -> None:
    nvml = ScriptedNvml(GetComputeRunningProcesses=[process(7, 3 * 2**30), process(8, None)])
    with telemetry(nvml, ScriptedPause(0)) as of_run:
        with of_run.watch(measured_pid=pid) as watch:
            pass
        assert watch.process_bytes == most


def test_memory_that_is_given_back_within_a_turn_shows_in_its_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml, pause, used = ScriptedNvml(), ScriptedPause(3), iter((2**30, 9 * 2**30, 2**30))
    with telemetry(nvml, pause) as of_run:
        assert of_run._gpu is not None
        monkeypatch.setattr(type(of_run._gpu), "processes", lambda gpu: {7: next(used, 2**30)})
        with of_run.watch(measured_pid=7) as watch:
            assert pause.done.wait(60)
    assert watch.process_bytes == 9 * 2**30


def test_without_nvml_there_are_no_states_and_one_remark() -> None:
    nvml = ScriptedNvml(Init=NvmlError(9, "Driver Not Loaded"))
    with telemetry(nvml, ScriptedPause(0)) as of_run:
        with of_run.watch() as watch:
            assert "telemetry" not in [thread.name for thread in threading.enumerate()]
        assert (watch.state(), watch.process_bytes) == (None, None)
    (remark,) = of_run.remarks
    assert tells(remark, "not recorded:", "NVML", "Driver Not Loaded")


def test_without_a_gpu_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml_module, "equal_gpus", list)
    with Telemetry() as of_run, of_run.watch() as watch:
        pass
    assert watch.state() is None
    (remark,) = of_run.remarks
    assert tells(remark, "not recorded:", "torch sees no GPU")


@pytest.mark.gpu
def test_a_gpu_at_work_says_how_it_is() -> None:
    matrix = torch.ones(4096, 4096, dtype=torch.bfloat16, device="cuda")
    torch.cuda.synchronize()
    with Telemetry() as of_run:
        with of_run.watch(measured_pid=os.getpid()) as watch:
            for _ in range(2000):
                matrix @ matrix
            torch.cuda.synchronize()
        state, used = watch.state(), watch.process_bytes
    assert state is not None
    assert state.sm_mhz is not None
    assert 200 < state.sm_mhz[0] <= state.sm_mhz[1] < 4000
    assert state.memory_mhz is not None
    assert state.memory_mhz > 400
    assert state.power_w is not None
    assert 20 < state.power_w < 2000
    assert state.temperature_c is not None
    assert 10 < state.temperature_c < 110
    assert used is None or used > matrix.nbytes
