"""Whether there is a GPU to look into, and having it for oneself."""

from __future__ import annotations

import torch

from harness.errors import MachineError


def require_gpu() -> str:
    """The name of the first visible GPU. Raises: MachineError."""
    if not torch.cuda.is_available():
        raise MachineError(
            "no CUDA GPU that this torch can use, and NVIDIA's tools look into nothing else; run 'harness doctor'"
        )
    return str(torch.cuda.get_device_name())
