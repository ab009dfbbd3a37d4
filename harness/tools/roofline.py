"""The ceilings of this machine's GPU, for whoever asks: from the cache, or measured with nobody else on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import MachineError
from harness.model.ceilings import Ceilings
from harness.run.cache import cache_folder
from harness.run.gpu_lock import alone_on_gpu


@dataclass(frozen=True)
class FoundCeilings:
    """`was_cached`: an earlier run measured them. `path`: where they are kept."""

    ceilings: Ceilings
    was_cached: bool
    path: Path


def find_ceilings(again: bool, notify: Callable[[str], None]) -> FoundCeilings:
    """`again`: measure, whatever is known. Raises: MachineError without a GPU, a driver, or memory to measure in."""
    import torch

    from harness.devices import driver_version
    from harness.referee.ceilings.ceilings import ceilings_path, known_ceilings, renew_ceilings

    if not torch.cuda.is_available():
        raise MachineError("ceilings are those of a GPU, and torch can use none here: see 'harness doctor'")
    driver = driver_version()
    if driver is None:
        raise MachineError("nvidia-smi doesn't name the driver, by which ceilings are kept: see 'harness doctor'")
    cache = cache_folder()
    path = ceilings_path(cache, driver)
    if not again and (known := known_ceilings(cache, driver)):
        return FoundCeilings(known, True, path)
    with alone_on_gpu(notify):
        notify("measuring the GPU's ceilings")
        try:
            return FoundCeilings(renew_ceilings(cache, driver), False, path)
        except torch.OutOfMemoryError:
            raise MachineError(
                "the GPU has too little free memory to measure its ceilings: they take 2 GiB; see 'nvidia-smi'"
            ) from None
