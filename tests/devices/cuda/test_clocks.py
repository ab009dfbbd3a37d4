"""Locking a clock, over an NVML by a script: no test changes a real GPU's clocks."""

from __future__ import annotations

import atexit
import json
from pathlib import Path

import pytest

from harness.devices.cuda import clocks as clocks_module
from harness.devices.cuda.clocks import SmClock, left_locked
from harness.errors import MachineError, UsageError
from tests.scripted_nvml import NO_PERMISSION, NOT_SUPPORTED, UUID, NvmlError, ScriptedNvml
from tests.wording import tells

STEPS = {"GetSupportedMemoryClocks": (2619,), "GetSupportedGraphicsClocks": {2619: tuple(range(345, 1981, 15))}}
LOCKED, RESET = ("lock", UUID, 1410, 1410), ("reset", UUID)


def clock(nvml: ScriptedNvml, cache: Path) -> SmClock:
    return SmClock(UUID, cache, nvml.opened)


def note(cache: Path) -> Path:
    return cache / "locked-clocks" / f"{UUID}.json"


def test_a_clock_is_locked_for_the_block_and_reset_after_it(tmp_path: Path) -> None:
    nvml = ScriptedNvml(**STEPS)
    with clock(nvml, tmp_path).locked(1410):
        assert nvml.calls == [LOCKED]
        assert clock(nvml, tmp_path).left_at() == 1410
    assert nvml.calls == [LOCKED, RESET]
    assert not note(tmp_path).exists()
    assert nvml.users == 0


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_it_is_reset_however_the_block_ends(tmp_path: Path, end: type[BaseException]) -> None:
    nvml = ScriptedNvml(**STEPS)
    with pytest.raises(end), clock(nvml, tmp_path).locked(1410):
        raise end
    assert nvml.calls == [LOCKED, RESET]
    assert not note(tmp_path).exists()


def test_the_interpreters_end_resets_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_exit: list[tuple[object, ...]] = []
    monkeypatch.setattr(atexit, "register", lambda *call: at_exit.append(call))
    nvml = ScriptedNvml(**STEPS)
    with clock(nvml, tmp_path).locked(1410):
        ((reset, gpu),) = at_exit
        reset(gpu)  # type: ignore[operator]
        assert nvml.calls == [LOCKED, RESET]


def test_a_clock_that_the_gpu_does_not_have_is_refused_with_the_nearest(tmp_path: Path) -> None:
    nvml = ScriptedNvml(**STEPS)
    message = "no clock of 1400 MHz; the nearest are 1380, 1395, 1410, 1425$"
    with pytest.raises(UsageError, match=message), clock(nvml, tmp_path).locked(1400):
        pass
    with pytest.raises(UsageError, match=message):
        clock(nvml, tmp_path).require_supported(1400)
    clock(nvml, tmp_path).require_supported(1410)
    assert nvml.calls == []
    assert not note(tmp_path).exists()


def test_where_the_driver_names_no_clocks_it_judges_itself(tmp_path: Path) -> None:
    nvml = ScriptedNvml()
    with clock(nvml, tmp_path).locked(1410):
        pass
    assert nvml.calls == [LOCKED, RESET]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NO_PERMISSION, "can't lock the clock at 1410 MHz: that needs root; run as root, or leave out --lock-clocks"),
        (NOT_SUPPORTED, "can't lock the clock at 1410 MHz: Not Supported; leave out --lock-clocks"),
    ],
)
def test_who_may_not_lock_is_told_and_nothing_is_left_behind(tmp_path: Path, error: NvmlError, message: str) -> None:
    nvml = ScriptedNvml(**STEPS, SetGpuLockedClocks=error)
    with pytest.raises(MachineError, match=message), clock(nvml, tmp_path).locked(1410):
        pass
    assert nvml.calls == []
    assert not note(tmp_path).exists()


def test_an_instance_of_a_gpu_is_not_locked(tmp_path: Path) -> None:
    nvml = ScriptedNvml((UUID.replace("GPU-", "MIG-"),), **STEPS)
    with pytest.raises(MachineError, match="instance"), clock(nvml, tmp_path).locked(1410):
        pass
    assert nvml.calls == []


def test_without_nvml_clocks_cannot_be_locked(tmp_path: Path) -> None:
    nvml = ScriptedNvml(Init=NvmlError(9, "Driver Not Loaded"))
    with pytest.raises(MachineError, match="NVML doesn't answer"), clock(nvml, tmp_path).locked(1410):
        pass


def test_without_a_place_for_the_note_nothing_is_locked(tmp_path: Path) -> None:
    nvml = ScriptedNvml(**STEPS)
    (tmp_path / "locked-clocks").write_text("a file where a folder belongs")
    with pytest.raises(MachineError, match="reset"), clock(nvml, tmp_path).locked(1410):
        pass
    assert nvml.calls == []


def leave_behind(cache: Path, boot: str | None) -> None:
    """What a run that was killed leaves."""
    note(cache).parent.mkdir()
    note(cache).write_text(json.dumps({"gpu": UUID, "sm_mhz": 1410, "boot": boot}))


def test_what_a_killed_run_left_locked_is_reset_by_the_next(tmp_path: Path) -> None:
    nvml = ScriptedNvml()
    leave_behind(tmp_path, clocks_module._boot())
    said: list[str] = []
    clock(nvml, tmp_path).restore(said.append)
    assert nvml.calls == [RESET]
    (remark,) = said
    assert tells(remark, "still locked", "1410 MHz", "killed", "reset")
    assert not note(tmp_path).exists()
    clock(nvml, tmp_path).restore(said.append)
    assert nvml.calls == [RESET]  # what somebody else has locked since is left alone


def test_after_a_restart_of_the_machine_nothing_is_locked_any_more(tmp_path: Path) -> None:
    nvml = ScriptedNvml()
    leave_behind(tmp_path, "the boot before")
    assert left_locked(tmp_path) == []
    said: list[str] = []
    clock(nvml, tmp_path).restore(said.append)
    assert (nvml.calls, said) == ([], [])
    assert not note(tmp_path).exists()


def test_who_may_not_reset_is_told_how(tmp_path: Path) -> None:
    nvml = ScriptedNvml(ResetGpuLockedClocks=NO_PERMISSION)
    leave_behind(tmp_path, clocks_module._boot())
    with pytest.raises(MachineError) as caught:
        clock(nvml, tmp_path).restore(lambda what: None)
    assert tells(str(caught.value), "root", f"'sudo nvidia-smi --id={UUID} --reset-gpu-clocks'", str(note(tmp_path)))
    assert note(tmp_path).exists()


def test_a_note_that_nobody_can_read_locks_nothing(tmp_path: Path) -> None:
    leave_behind(tmp_path, None)
    note(tmp_path).write_text("{")
    assert left_locked(tmp_path) == []


def test_clocks_that_are_locked_are_listed(tmp_path: Path) -> None:
    leave_behind(tmp_path, clocks_module._boot())
    (found,) = left_locked(tmp_path)
    assert (found.key, found.left_at()) == (UUID, 1410)
