"""The processes that import torch once, of which workers are children (see worker.fork_server), as the referee holds
them: one for each environment that workers are started with."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import IO

from harness.errors import Interrupted, MachineError
from harness.model.environment import BackendName
from harness.sandbox.family import has_ended
from harness.sandbox.variables import own_python
from harness.sandbox.wire.frames import FrameError, PeerClosed, envelope, open_envelope, receive_frame, send_frame
from harness.sandbox.wire.sandbox import MARK, NO_MARK, REPLIES, Fork, Forked, Reap, Reaped, Refused, Sandbox

START_S = 120
"""The time limit for importing torch, on a machine that does much else."""
_ROUND_S = 0.002
_POLL_S = 0.1


@dataclass(frozen=True)
class Kind:
    """The arguments that a server is started with: all that its workers have in common. `sandbox` has the folder of
    theirs."""

    backend: BackendName
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    sandbox: Sandbox


class ForkedProcess:
    """A worker's process, like subprocess.Popen; its parent is the fork server."""

    def __init__(self, pid: int, server: ForkServer) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    @property
    def is_orphan(self) -> bool:
        """True where its server is gone, with which it was ended: that is no fault of its own."""
        return not self._server.is_alive

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal; None while it lives."""
        if self.returncode is None and has_ended(self.pid):
            self.returncode = self._server.reap(self.pid)
        return self.returncode

    def wait(self, timeout: float) -> int:
        """Wait until it has ended, then return its exit code like poll(). Raises: subprocess.TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a worker", timeout)
            time.sleep(_ROUND_S)
        return code


class ForkServer:
    """One such process. It is safe to share between threads. Its import goes on while nobody asks for a worker."""

    def __init__(self, kind: Kind) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                own_python(
                    "harness.worker", str(theirs.fileno()), kind.sandbox.to_argument(), kind.backend, *kind.arguments
                ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is the referee's to act on
                env={**dict(kind.environment), MARK: NO_MARK},
                cwd="/",
            )
        self._socket = ours
        self._output = WorkerOutput(self._process.stdout)
        self._lock = threading.Lock()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def fork(
        self, sandbox: Sandbox, environment: dict[str, str], descriptors: tuple[int, int], stop: threading.Event
    ) -> ForkedProcess:
        """A new worker, on the CPUs and with the priority of the calling thread. `descriptors`: its socket, and what
        takes its output.

        Raises: MachineError, Interrupted once `stop` is set.
        """
        thread = threading.get_native_id()
        cpus = tuple(sorted(os.sched_getaffinity(thread)))
        request = Fork(sandbox, environment, cpus, os.getpriority(os.PRIO_PROCESS, thread))
        try:
            reply = self._ask(request, descriptors, stop)
        except TimeoutError:
            raise MachineError(f"a worker didn't start within {START_S} s") from None
        except (PeerClosed, FrameError, OSError) as error:
            raise MachineError(f"a worker didn't start: {self._last_words() or error}") from error
        if isinstance(reply, Refused):
            raise MachineError(f"a worker didn't start: {reply.why}")
        assert isinstance(reply, Forked)
        return ForkedProcess(reply.pid, self)

    def reap(self, pid: int) -> int | None:
        """The exit code of a child; None while it, or a thread of it, goes on. A server that has died took its children
        along."""
        try:
            reply = self._ask(Reap(pid), (), threading.Event())
        except (PeerClosed, FrameError, OSError):
            return -signal.SIGKILL
        assert isinstance(reply, Reaped)
        return reply.code

    def kill(self) -> None:
        """End it, at once, and with it what is left of its children: itself, or bubblewrap with it inside."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill the server like kill(), and wait for its end."""
        self.kill()
        self._process.wait()
        self._socket.close()
        self._output.finish()

    def _ask(
        self, request: Fork | Reap, descriptors: tuple[int, ...], stop: threading.Event
    ) -> Forked | Refused | Reaped:
        """Ask the server. Whatever goes wrong on the way ends it: a late answer would be taken for the next one's."""
        nonce = secrets.token_hex(8)
        with self._lock:
            try:
                send_frame(self._socket, envelope(nonce, request), descriptors)
                deadline = time.monotonic() + START_S
                frame, _ = receive_frame(self._socket, lambda: self._await_word(deadline, stop))
                answered, reply = open_envelope(frame, REPLIES)
                if answered != nonce:
                    raise FrameError("a fork server answered another question")
            except BaseException:
                self.kill()
                self._process.wait()
                raise
        return reply  # type: ignore[no-any-return]

    def _await_word(self, deadline: float, stop: threading.Event) -> None:
        """Wait for its word. Raises: TimeoutError, Interrupted."""
        while not select.select([self._socket], [], [], _POLL_S)[0]:
            if stop.is_set():
                raise Interrupted
            if time.monotonic() > deadline:
                raise TimeoutError

    def _last_words(self) -> str | None:
        self._output.finish()
        lines = self._output.text().splitlines()
        return lines[-1] if lines else None


class ForkServers:
    """The fork servers, started when first wanted, and anew where one has died. They are safe to share between
    threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._servers: dict[Kind, ForkServer] = {}

    def server(self, kind: Kind) -> ForkServer:
        """Return a server, perhaps one that is still importing torch; asking it for a worker waits for that."""
        with self._lock:
            server = self._servers.get(kind)
            if server is None or not server.is_alive:
                if server is not None:
                    server.close()
                server = self._servers[kind] = ForkServer(kind)
            return server

    def close(self) -> None:
        """End them all."""
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            server.kill()
        for server in servers:
            server.close()


_KEPT_OUTPUT_BYTES = 16 * 2**10


class WorkerOutput:
    """A pipe that is drained in the background, its first and last bytes kept; a flood costs nothing."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._head = b""
        self._tail: deque[bytes] = deque(maxlen=4)
        self._dropped = 0
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def text(self) -> str:
        gap = f"\n… {self._dropped} bytes left out …\n".encode() if self._dropped else b""
        return (self._head + gap + b"".join(self._tail)).decode(errors="replace").strip()

    def finish(self) -> None:
        self._thread.join(timeout=2)  # a grandchild that left the group may hold the pipe

    def _drain(self) -> None:
        while piece := os.read(self._stream.fileno(), _KEPT_OUTPUT_BYTES // 4):
            if len(self._head) < _KEPT_OUTPUT_BYTES:
                self._head += piece
                continue
            if len(self._tail) == self._tail.maxlen:
                self._dropped += len(self._tail[0])
            self._tail.append(piece)
        self._stream.close()
