"""`harness.worker FD SANDBOX BACKEND`: a fork server and, in its children, workers; started by the referee (see
sandbox.fork_server), never by hand.

FD is the server's end of the referee's socket; SANDBOX is a wire.sandbox.Sandbox, or INSIDE where this
process has started itself anew in one. A worker's standard output and error belong to the solution.
"""

from __future__ import annotations

import gc
import socket
import sys

from harness.worker.confinement import confine
from harness.worker.confinement.bubblewrap import enter
from harness.worker.fork_server import serve_forks


def main() -> None:
    descriptor, sandbox, backend, *options = sys.argv[1:]
    bubblewrap = enter(sandbox)
    sys.dont_write_bytecode = sys.pycache_prefix is None  # what children import stays unwritten
    gc.disable()  # torch's import makes a million objects and no garbage: looking for some takes a tenth of it
    from harness.devices import activate_worker

    device = activate_worker(backend, options)  # before torch: the simulator must come first
    from harness.sandbox.wire.layout import own_imports
    from harness.worker.extensions import route_extensions
    from harness.worker.imports import lister
    from harness.worker.serve import serve

    gc.freeze()  # nor looked at later, which would copy what the children share
    sys.dont_write_bytecode = True
    child = serve_forks(socket.socket(fileno=int(descriptor)))
    confined = confine(child.sandbox, child.socket.fileno(), child.server, bubblewrap)  # whose only thread this is
    extensions = route_extensions(child.sandbox.path, backend)
    gc.enable()
    serve(child.socket, device, extensions, confined.active, lister(own_imports(child.sandbox.path)))


if __name__ == "__main__":
    main()
