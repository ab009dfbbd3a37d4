"""Fork servers started while this process is still importing torch, which takes both about three seconds."""

from __future__ import annotations

import contextlib

from harness.devices import (
    SimUnavailable,
    compute_capability,
    ensure_toolkit,
    is_only_gpu,
    is_prepared,
    require_simulator,
    worker_environment,
)
from harness.run.cache import cache_folder
from harness.sandbox.fork_server import ForkServers
from harness.sandbox.start import Surroundings, make_launch, surroundings_of

__all__ = ["ForkServers", "require_simulator", "start_early", "surroundings_of"]


def start_early(backend: str, surroundings: Surroundings, sanitizes: bool) -> ForkServers:
    """Start the servers for workers that build and, where there is one GPU, for those that are measured; without a GPU
    the simulator's, whose toolkit a first run has to build before.

    The caller closes them. No lock is needed: they don't touch the GPU. `surroundings` must be those of the session, or
    it starts servers of its own.
    """
    servers = ForkServers()
    capability = compute_capability() if backend != "sim" else None
    if capability is not None:
        # Of several GPUs each has a process of its own that starts its workers.
        for for_build in (True, False) if is_only_gpu() else (True,):
            variables = worker_environment(capability, for_build)
            servers.server(make_launch("cuda", cache_folder(), [], variables, surroundings, for_build).kind)
    elif backend != "cuda" and not sanitizes:
        with contextlib.suppress(SimUnavailable, OSError):  # whoever opens the simulator says what is wrong
            if is_prepared(cache_folder()):
                toolkit = ensure_toolkit(cache_folder(), lambda what: None)
                launch = make_launch("sim", cache_folder(), toolkit.options, toolkit.environment(), surroundings)
                servers.server(launch.kind)
    return servers
