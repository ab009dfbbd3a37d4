"""`python -m harness.worker FD BACKEND CACHE`: started by the referee, never by hand.

FD is the worker's end of the private socket. Standard output and error belong to the solution.
"""

from __future__ import annotations

import ctypes
import signal
import socket
import sys
from pathlib import Path


def main() -> None:
    _end_with_parent()
    descriptor, backend, cache, *options = sys.argv[1:]
    from harness.backends import activate_worker

    device = activate_worker(backend, options)  # before torch: the simulator must come first
    from harness.worker.extensions import route_extensions
    from harness.worker.serve import serve

    extensions = route_extensions(Path(cache), backend)
    serve(socket.socket(fileno=int(descriptor)), device, extensions)


def _end_with_parent() -> None:
    """A referee that is killed takes its workers along (prctl(2), PR_SET_PDEATHSIG)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    main()
