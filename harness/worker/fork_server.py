"""One process imports torch, and every worker is a child of it: 20 ms instead of three seconds each.

The server runs nothing but our own code, so all its children begin alike, and what one of them does to its memory no
other sees: it is copied when it is written (fork(2)). It ends when the referee hangs up, and its children with it
(PR_SET_PDEATHSIG(2const)). Whom a worker has orphaned becomes its child, so that all that a solution starts descends
from the referee (PR_SET_CHILD_SUBREAPER(2const)).
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import signal
import socket
import warnings
from dataclasses import dataclass

from harness.sandbox.wire.frames import PeerClosed, envelope, open_envelope, receive_frame, send_frame
from harness.sandbox.wire.layout import scratch_folder
from harness.sandbox.wire.sandbox import MARK, NO_MARK, REQUESTS, Fork, Forked, Reap, Reaped, Refused, Sandbox
from harness.worker.confinement.linux import PR_SET_CHILD_SUBREAPER, prctl

_GIVEN = 2


@dataclass(frozen=True)
class Child:
    """The facts that a child process knows of itself."""

    sandbox: Sandbox
    socket: socket.socket
    server: int
    """The number of its parent."""


def serve_forks(referee: socket.socket) -> Child:
    """Answer the referee until it hangs up, which is SystemExit. Returns in each child, and there alone."""
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # only numpy's BLAS
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # inherited as ignored, children would be gone before they are reaped
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    place = _place_of_mark()
    workers: set[int] = set()
    while True:
        try:
            frame, descriptors = receive_frame(referee)
        except PeerClosed:
            raise SystemExit from None
        nonce, request = open_envelope(frame, REQUESTS)
        if isinstance(request, Reap):
            send_frame(referee, envelope(nonce, _reap(request.pid, workers)))
            continue
        assert isinstance(request, Fork)
        answer: Child | Forked | Refused
        try:
            answer = _fork(request, descriptors, place)
        except OSError as error:  # too many processes, too little memory: this one's misfortune alone
            answer = Refused(str(error))
        if isinstance(answer, Child):
            return answer
        if isinstance(answer, Forked):
            workers.add(answer.pid)
        for descriptor in descriptors:
            os.close(descriptor)
        send_frame(referee, envelope(nonce, answer))


def _reap(pid: int, workers: set[int]) -> Reaped:
    """Reap a worker without waiting: a process can look like a zombie while a thread of it lives. Orphans that have
    ended are reaped beside it, up to the first worker that has: its end is for the referee to ask for."""
    found, status = os.waitpid(pid, os.WNOHANG)
    if found:
        workers.discard(pid)
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid not in workers:
            os.waitpid(ended.si_pid, 0)
    return Reaped(os.waitstatus_to_exitcode(status) if found else None)


def _fork(request: Fork, descriptors: list[int], place: int) -> Forked | Child:
    """Fork, and return in both processes, a Child in the child. Raises: OSError."""
    if len(descriptors) != _GIVEN:
        raise OSError("the descriptors of a worker got lost: too many files are open")
    server = os.getpid()
    heard, said = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(heard)
        os.close(said)
        raise
    if not pid:
        return _become_worker(request, descriptors, said, place, server)
    os.close(said)
    os.read(heard, 1)  # nothing, once it has a session of its own: the referee can signal it from now on
    os.close(heard)
    return Forked(pid)


def _become_worker(request: Fork, descriptors: list[int], said: int, place: int, server: int) -> Child:
    """A session, CPUs, an output, an environment and a folder of its own."""
    ctypes.memmove(place, request.environment[MARK].encode(), len(NO_MARK))
    os.setsid()
    private, output = descriptors
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(said)
    with contextlib.suppress(OSError):  # CPUs that this container has no more
        os.sched_setaffinity(0, request.cpus)
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, max(request.nice, usual))
    if request.nice > usual:
        _give_way(request.nice)
    os.environ.update(request.environment)
    os.chdir(scratch_folder(request.sandbox.path) / "work")
    return Child(request.sandbox, socket.socket(fileno=private), server)


def _give_way(nice: int) -> None:
    """Lower this session's priority. Where Linux divides the CPUs among sessions, a process's own counts within its
    session alone: sched(7), autogroup. All users together may do it ten times a second, and root always."""
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as own:
        own.write(str(nice))


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
