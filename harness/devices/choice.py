"""The choice of a run's backend, made ready for it on either side."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

from harness.devices.base import Host, WorkerDevice
from harness.errors import MachineError, UsageError
from harness.room import require_room

Choice = Literal["auto", "cuda", "sim"]
_ROOM_BYTES = 64 * 2**20
"""The room for some extensions."""
_TOOLKIT_BYTES = 2**29
"""The room for the simulator's toolkit, nearly all of it two precompiled headers (520 MB with torch 2.13)."""
_LETTERS = 200
"""The most characters that are shown of an error that has no short form."""


def choose_backend(choice: Choice) -> Literal["cuda", "sim"]:
    """Choose: 'auto' takes the GPU if there is one. Raises: UsageError for another word, MachineError."""
    if choice not in get_args(Choice):
        raise UsageError(f"no backend {choice!r}. Valid: {', '.join(get_args(Choice))}.")
    import torch

    has_gpu = torch.cuda.is_available()
    if choice == "cuda" and not has_gpu:
        raise MachineError("no CUDA GPU that this torch can use; run 'harness doctor', or take --backend sim")
    return "cuda" if choice != "sim" and has_gpu else "sim"


def require_simulator(choice: Choice, sanitize: bool) -> None:
    """Refuse the simulator's checks on a GPU. Raises: UsageError."""
    if sanitize and choice == "cuda":
        raise UsageError(
            "--sanitize (correctness.sanitize) checks every access on the simulator: add --backend sim; "
            "on the GPU 'harness sanitize PROBLEM SOLUTION' runs compute-sanitizer"
        )


def open_host(choice: Choice, cache: Path, progress: Callable[[str], None], sanitize: bool = False) -> Host:
    """Open the referee's side of the chosen backend; `sanitize` asks for the simulator's checked build.

    Raises: MachineError with the remedy; UsageError for `sanitize` where the GPU is used.
    """
    chosen = choose_backend(choice)
    require_simulator(chosen, sanitize)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        require_room(cache, _ROOM_BYTES)
        if chosen == "sim":
            return _sim_host(cache, progress, sanitize)
        from harness.devices.cuda.host import CudaHost

        return CudaHost()
    except OSError as error:
        if not _is_of(cache, error):
            raise
        why = error.strerror or str(error)[:_LETTERS]
        raise MachineError(f"the cache {cache} can't be used: {why}; free space there, or set HARNESS_CACHE") from error


def activate_worker(name: str, options: Sequence[str]) -> WorkerDevice:
    """Turn this process into one whose children are workers of the backend. Called once, before torch is imported.
    `options` are the host's worker_arguments()."""
    if name == "sim":
        from harness.cudasim import Toolkit
        from harness.devices.sim.device import activate

        return activate(Toolkit.of_options(options))
    from harness.devices.cuda.device import activate as activate_gpu

    return activate_gpu()


def _is_of(cache: Path, error: OSError) -> bool:
    """Tell whether the folder is at fault. shutil's error lists what couldn't be copied there, and has no words."""
    named = Path(os.fsdecode(error.filename or ""))
    has_no_room = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return has_no_room or isinstance(error, shutil.Error) or named.is_relative_to(cache) or named in cache.parents


def _sim_host(cache: Path, progress: Callable[[str], None], sanitize: bool) -> Host:
    from harness.cudasim import SimUnavailable, ensure_toolkit, is_prepared
    from harness.devices.sim.host import SimHost

    try:
        if not is_prepared(cache):
            require_room(cache, _TOOLKIT_BYTES)
        return SimHost(ensure_toolkit(cache, progress, sanitize))
    except SimUnavailable as error:
        raise MachineError(f"the simulator can't run here: {error}") from error
