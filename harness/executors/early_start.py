"""Workers started while this process is still importing torch, which takes both about three seconds."""

from __future__ import annotations

from harness.backends.cuda.driver import compute_capability, worker_environment
from harness.executors.cache import cache_folder
from harness.referee.worker_start import Spares, make_launch

_MEASURED = 2
"""The solution's worker and the first baseline's."""


def start_early(backend: str, builds: int) -> Spares:
    """Spares for the first GPU: two that measure and `builds` that build; none for the simulator or without a GPU.

    To be called by the main thread, and closed by the caller. Spares of which a run has no use wait until then.
    """
    spares = Spares()
    capability = None if backend == "sim" else compute_capability()
    if capability is not None:
        for for_build, count in ((True, builds), (False, _MEASURED)):
            environment = worker_environment(capability, for_build)
            spares.keep(make_launch("cuda", cache_folder(), [], environment), count)
    return spares
