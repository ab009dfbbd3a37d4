"""The referee's shared memory on the simulator."""

from __future__ import annotations

import fcntl
import os
from typing import Any

import pytest

from harness.devices.sim.host import SimHost


def test_shared_memory_keeps_its_size_whoever_holds_it() -> None:
    """Else a worker could have the referee read behind its end, which kills."""
    toolkit: Any = None
    buffer = SimHost(toolkit).allocate(5000)
    assert buffer.descriptor is not None
    for size in (0, 4096, 10_000_000):
        with pytest.raises(PermissionError):
            os.ftruncate(buffer.descriptor, size)
    with pytest.raises(PermissionError):
        fcntl.fcntl(buffer.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    buffer.content.fill_(7)
    assert int(buffer.content[-1]) == 7
    del buffer
