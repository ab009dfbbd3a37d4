"""One process imports torch, and every worker is a child of it: 20 ms instead of three seconds each.

The server runs nothing but our own code, so all its children begin alike, and nothing that one of them does reaches it
or the next: memory is copied when it is written (fork(2)). It ends when the referee hangs up, and its children with it
(PR_SET_PDEATHSIG(2const)).
"""

from __future__ import annotations

import ctypes
import itertools
import os
import socket
import warnings
from dataclasses import dataclass

from harness.protocol.cell import Cell
from harness.protocol.exchange import envelope, open_envelope
from harness.protocol.forking import MARK, NO_MARK, REQUESTS, Fork, Forked, Reap, Reaped
from harness.protocol.frames import PeerClosed, receive_frame, send_frame
from harness.protocol.layout import scratch_folder


@dataclass(frozen=True)
class Birth:
    """What a child knows of itself."""

    cell: Cell
    socket: socket.socket
    server: int
    """Its parent's number."""


def serve_forks(referee: socket.socket) -> Birth:
    """Answer the referee until it hangs up, which is SystemExit. Returns in each child, and there alone."""
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # only numpy's BLAS
    place = _place_of_mark()
    server = os.getpid()
    while True:
        try:
            frame, descriptors = receive_frame(referee)
        except PeerClosed:
            raise SystemExit from None
        nonce, request = open_envelope(frame, REQUESTS)
        if isinstance(request, Reap):
            _, status = os.waitpid(request.pid, 0)
            send_frame(referee, envelope(nonce, Reaped(os.waitstatus_to_exitcode(status))))
            continue
        assert isinstance(request, Fork)
        heard, said = os.pipe()
        pid = os.fork()
        if not pid:
            return _be_born(request, descriptors, said, place, server)
        os.close(said)
        os.read(heard, 1)  # nothing, once it has a session of its own: the referee can signal it from now on
        for descriptor in (heard, *descriptors):
            os.close(descriptor)
        send_frame(referee, envelope(nonce, Forked(pid)))


def _be_born(request: Fork, descriptors: list[int], said: int, place: int, server: int) -> Birth:
    """A session, CPUs, an output, an environment and a folder of its own."""
    ctypes.memmove(place, request.environment[MARK].encode(), len(NO_MARK))
    os.setsid()
    os.close(said)
    os.sched_setaffinity(0, request.cpus)
    os.setpriority(os.PRIO_PROCESS, 0, max(request.nice, os.getpriority(os.PRIO_PROCESS, 0)))
    private, output = descriptors
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.update(request.environment)
    os.chdir(scratch_folder(request.cell.path) / "work")
    return Birth(request.cell, socket.socket(fileno=private), server)


def _place_of_mark() -> int:
    """The address of the mark's value in the environment that this process was started with."""
    variables = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    wanted = f"{MARK}={NO_MARK}".encode()
    for number in itertools.count():
        variable = variables[number]
        if variable is None:
            break
        if ctypes.string_at(variable) == wanted:
            return int(variable) + len(MARK) + 1
    raise RuntimeError(f"a fork server is started with {MARK} in its environment")
