"""Workers started while this process is still importing torch, which takes both about three seconds."""

from __future__ import annotations

import os

from harness.backends.cuda.driver import compute_capability, is_only_gpu, worker_environment
from harness.executors.cache import cache_folder
from harness.referee.worker_start import Launch, Spares, Surroundings, make_launch, surroundings_of

__all__ = ["Spares", "start_early", "surroundings_of"]

_MEASURED = 2
"""The solution's worker and the first baseline's."""
_BUILDS = 4
"""More would rather slow each other down, while they import, than save anything."""


def start_early(backend: str, tasks: int, surroundings: Surroundings | None = None) -> Spares:
    """Spares for the first of `tasks` evaluations on a GPU: some that build, and two that measure where there is one
    GPU. None for the simulator, where there is no GPU, and where nothing is to be done.

    To be called by the main thread, and closed by the caller. What a run has no use for only waits. No lock is needed:
    a spare doesn't touch the GPU before it is taken. `surroundings` must be those of the session, or it starts workers
    of its own.
    """
    around = surroundings or Surroundings()
    spares = Spares()
    capability = compute_capability() if backend != "sim" and tasks else None
    if capability is not None:
        builds = min(tasks, _BUILDS, max(1, (os.cpu_count() or 1) // 4))
        spares.keep(_launch(capability, True, around), builds)
        if is_only_gpu():  # of several each has a process of its own that starts its workers
            spares.keep(_launch(capability, False, around), _MEASURED)
    return spares


def _launch(capability: str, for_build: bool, around: Surroundings) -> Launch:
    return make_launch("cuda", cache_folder(), [], worker_environment(capability, for_build), around, for_build)
