"""Whether the GPU still does what it is told: a kernel of ours, its result looked at, with a time limit."""

from __future__ import annotations

import time

import torch

from harness.errors import MachineError

_ELEMENTS = 2**20
_TIMEOUT_S = 30.0
"""A kernel of another process that was ended may run on until the driver resets its channel, which takes seconds."""
_POLL_S = 0.001
_REMEDY = "look at 'nvidia-smi' and the kernel's log (dmesg, Xid), reset the GPU ('nvidia-smi --gpu-reset') or reboot"


def require_alive(timeout_s: float = _TIMEOUT_S) -> None:
    """A tenth of a millisecond on a GPU that is well. Raises: MachineError."""
    try:
        total = torch.ones(_ELEMENTS, dtype=torch.int32, device="cuda").sum()
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record()
        deadline = time.monotonic() + timeout_s
        while not done.query():  # type: ignore[no-untyped-call]  # synchronize() would never come back from a GPU that is stuck
            if time.monotonic() > deadline:
                raise MachineError(f"the GPU didn't finish a small kernel within {timeout_s:g} s; {_REMEDY}")
            time.sleep(_POLL_S)
        result = int(total.item())
    except RuntimeError as error:
        raise MachineError(f"the GPU fails ({str(error).splitlines()[0]}); {_REMEDY}") from error
    if result != _ELEMENTS:
        raise MachineError(f"the GPU counts {result} where {_ELEMENTS} is right; {_REMEDY}")
