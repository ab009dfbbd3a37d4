"""Which backend a run uses, made ready for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from harness.backends.base import Host
from harness.errors import MachineError, UsageError

Choice = Literal["auto", "cuda", "sim"]


def choose_backend(choice: Choice) -> Literal["cuda", "sim"]:
    """'auto' takes the GPU where there is one. Raises: MachineError with the remedy."""
    import torch

    has_gpu = torch.cuda.is_available()
    if choice == "cuda" and not has_gpu:
        raise MachineError("no CUDA GPU that this torch can use; run 'harness doctor', or take --backend sim")
    return "cuda" if choice != "sim" and has_gpu else "sim"


def require_simulator(choice: Choice, sanitize: bool) -> None:
    """Raises: UsageError where the simulator's checks are asked of a GPU."""
    if sanitize and choice == "cuda":
        raise UsageError(
            "--sanitize (correctness.sanitize) checks every access on the simulator: add --backend sim; "
            "on the GPU 'harness sanitize PROBLEM SOLUTION' runs compute-sanitizer"
        )


def open_host(choice: Choice, cache: Path, progress: Callable[[str], None], sanitize: bool = False) -> Host:
    """The referee's side of the chosen backend; `sanitize` asks for the simulator's checked build.

    Raises: MachineError with the remedy; UsageError for `sanitize` where the GPU is used.
    """
    chosen = choose_backend(choice)
    require_simulator(chosen, sanitize)
    if chosen == "cuda":
        from harness.backends.cuda.host import CudaHost

        return CudaHost()
    from harness.backends.sim.host import SimHost
    from harness.backends.sim.toolkit import SimUnavailable, ensure_toolkit

    try:
        return SimHost(ensure_toolkit(cache, progress, sanitize))
    except SimUnavailable as error:
        raise MachineError(f"the simulator can't run here: {error}") from error
