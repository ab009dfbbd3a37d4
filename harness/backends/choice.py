"""Which backend a run uses, made ready for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from harness.backends.base import Host
from harness.errors import MachineError

Choice = Literal["auto", "cuda", "sim"]


def choose_backend(choice: Choice) -> Literal["cuda", "sim"]:
    """'auto' takes the GPU where there is one. Raises: MachineError with the remedy."""
    import torch

    has_gpu = torch.cuda.is_available()
    if choice == "cuda" and not has_gpu:
        raise MachineError("no CUDA GPU that this torch can use; run 'harness doctor', or take --backend sim")
    return "cuda" if choice != "sim" and has_gpu else "sim"


def open_host(choice: Choice, cache: Path, progress: Callable[[str], None]) -> Host:
    """The referee's side of the chosen backend. Raises: MachineError with the remedy."""
    if choose_backend(choice) == "cuda":
        from harness.backends.cuda.host import CudaHost

        return CudaHost()
    from harness.backends.sim.host import SimHost
    from harness.backends.sim.toolkit import SimUnavailable, ensure_toolkit

    try:
        return SimHost(ensure_toolkit(cache, progress))
    except SimUnavailable as error:
        raise MachineError(f"the simulator can't run here: {error}") from error
