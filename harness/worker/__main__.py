"""`harness.worker FD BACKEND CELL`: started by the referee (see referee.worker_start), never by hand.

FD is the worker's end of the private socket. Standard output and error belong to the solution.
"""

from __future__ import annotations

import gc
import socket
import sys

from harness.protocol.cell import Cell
from harness.worker.confinement import confine


def main() -> None:
    descriptor, backend, told, *options = sys.argv[1:]
    cell = Cell.from_argument(told)
    confined = confine(cell, int(descriptor))  # before torch, whose threads would stay free
    gc.disable()  # torch's import makes a million objects and no garbage: looking for some takes a tenth of it
    from harness.backends import activate_worker

    device = activate_worker(backend, options)  # before torch: the simulator must come first
    from harness.worker.extensions import route_extensions
    from harness.worker.serve import serve

    extensions = route_extensions(cell.path, backend)
    gc.enable()
    serve(socket.socket(fileno=int(descriptor)), device, extensions, confined.active)


if __name__ == "__main__":
    main()
