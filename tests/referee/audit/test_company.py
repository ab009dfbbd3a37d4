"""Who is blamed for times that accuse, by an NVML by a script."""

from __future__ import annotations

import os

import pytest

from harness.devices.cuda.telemetry import Telemetry
from harness.model.check import CheckName
from harness.referee.audit import excused
from harness.sandbox.outcome import SolutionFailed
from tests.scripted_nvml import ScriptedNvml, process

HERE, SOMEBODY = process(os.getpid(), 600), process(11, 700)


def of_times(check: CheckName) -> SolutionFailed:
    return SolutionFailed.cheating(check, "a traced call kept the device busy for 22399 µs", traced_ns=2.2e7)


@pytest.mark.parametrize("check", ["phases", "tail", "wall_clock", "idle_gpu"])
def test_times_blame_nobody_while_another_program_is_on_the_gpu(check: CheckName) -> None:
    fault = excused(of_times(check), Telemetry(ScriptedNvml(GetComputeRunningProcesses=[HERE, SOMEBODY]).opened))
    assert check in str(fault)
    assert "another program" in str(fault)


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
    assert excused(failed, Telemetry(ScriptedNvml(GetComputeRunningProcesses=on_the_gpu).opened)) is None
