"""`harness.worker FD BACKEND CACHE`: started by the referee (see referee.worker_start), never by hand.

FD is the worker's end of the private socket. Standard output and error belong to the solution.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import signal
import socket
import sys
from pathlib import Path


def main() -> None:
    _end_with_parent()
    _go_first()
    descriptor, backend, cache, *options = sys.argv[1:]
    gc.disable()  # torch's import makes a million objects and no garbage: looking for some takes a tenth of it
    from harness.backends import activate_worker

    device = activate_worker(backend, options)  # before torch: the simulator must come first
    from harness.worker.extensions import route_extensions
    from harness.worker.serve import serve

    extensions = route_extensions(Path(cache), backend)
    gc.enable()
    serve(socket.socket(fileno=int(descriptor)), device, extensions)


def _end_with_parent() -> None:
    """A referee that is killed takes its workers along (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _go_first() -> None:
    """When memory runs out the kernel ends a worker, never the referee (proc(5), oom_score_adj)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    main()
