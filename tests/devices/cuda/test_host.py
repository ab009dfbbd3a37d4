"""The referee's look at its GPU after each evaluation."""

from __future__ import annotations

import time

import pytest
import torch

from harness.devices.cuda.host import run_probe_kernel
from harness.errors import MachineError

pytestmark = pytest.mark.gpu


def test_a_gpu_that_is_well_costs_no_time() -> None:
    run_probe_kernel()  # loads the kernels
    started = time.monotonic()
    run_probe_kernel()
    assert time.monotonic() - started < 0.005


def test_a_gpu_that_is_stuck_is_told_of_and_not_waited_for() -> None:
    torch.cuda._sleep(2_000_000_000)  # a second or more
    with pytest.raises(MachineError, match=r" 0\.05 s; .*'nvidia-smi'"):
        run_probe_kernel(timeout_s=0.05)
    torch.cuda.synchronize()
    run_probe_kernel()
