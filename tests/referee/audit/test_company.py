"""Who is blamed for times that accuse, by an NVML by a script."""

from __future__ import annotations

import os
import subprocess

import pytest

from harness.devices.cuda.telemetry import Telemetry
from harness.errors import MachineError
from harness.model.check import CheckName
from harness.referee.audit.company import excusing_company
from harness.sandbox.outcome import SolutionFailed
from tests.scripted_nvml import ScriptedNvml, process
from tests.wording import tells

HERE, SOMEBODY = process(os.getpid(), 600), process(1, 700)


def beside(*on_the_gpu: object) -> ScriptedNvml:
    return ScriptedNvml(GetComputeRunningProcesses=list(on_the_gpu))


def of_times(check: CheckName) -> SolutionFailed:
    return SolutionFailed.cheating(check, "a traced call kept the device busy for 22399 µs", traced_ns=2.2e7)


@pytest.mark.parametrize("check", ["phases", "tail", "wall_clock", "idle_gpu"])
def test_times_blame_nobody_while_another_program_is_on_the_gpu(check: CheckName) -> None:
    with pytest.raises(MachineError) as caught, excusing_company(Telemetry(beside(HERE, SOMEBODY).opened)):
        raise of_times(check)
    assert tells(str(caught.value), "another program", check)


def test_who_has_gone_again_was_there() -> None:
    nvml = beside(HERE, SOMEBODY)
    with pytest.raises(MachineError), excusing_company(Telemetry(nvml.opened)) as telemetry:  # noqa: PT012
        with telemetry.watch():
            pass
        nvml.told["GetComputeRunningProcesses"] = [HERE]
        raise of_times("phases")


@pytest.mark.parametrize(
    ("failed", "on_the_gpu"),
    [
        (of_times("phases"), [HERE]),
        (of_times("phases"), [SOMEBODY]),  # a container that numbers processes otherwise: nothing is known
        (of_times("trace"), [HERE, SOMEBODY]),
        (SolutionFailed.cheating("private_socket", "it wrote into the referee's socket"), [HERE, SOMEBODY]),
    ],
)
def test_it_stays_the_solution_s(failed: SolutionFailed, on_the_gpu: list[object]) -> None:
    with pytest.raises(SolutionFailed), excusing_company(Telemetry(beside(*on_the_gpu).opened)):
        raise failed


def test_whom_we_started_is_no_company() -> None:
    with subprocess.Popen(["sleep", "60"]) as ours:
        nvml = beside(HERE, process(ours.pid, 700))
        with pytest.raises(SolutionFailed), excusing_company(Telemetry(nvml.opened)):
            raise of_times("phases")
        ours.kill()
