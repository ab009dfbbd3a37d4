"""A worker as the referee holds it: started, asked, watched, ended with its whole process group."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from harness.errors import Interrupted, MachineError
from harness.model.environment import BackendName
from harness.model.record import hash_contents
from harness.model.verdict import Verdict
from harness.sandbox.extension_cache import (
    SHARED,
    keep_builds,
    keep_calls,
    keep_log,
    lend,
    lend_texts,
)
from harness.sandbox.family import Leftovers
from harness.sandbox.fork_server import START_S, ForkServers
from harness.sandbox.host_memory import available_bytes
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.shown_texts import show_reply, show_text
from harness.sandbox.sources import copy_folder, write_file
from harness.sandbox.start import Launch, StartedWorker
from harness.sandbox.told import Told
from harness.sandbox.twins import Twins
from harness.sandbox.usage import Excess, Usage
from harness.sandbox.wire.exchange import READY, envelope, open_envelope
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.frames import FrameError, PeerClosed, bounded_int, receive_frame, send_frame
from harness.sandbox.wire.layout import (
    READ_ONLY_FILES,
    WORKER_PLACE,
    calls_name,
    extensions_folder,
    files_folder,
    lent_extensions,
    log_name,
    own_extensions,
    scratch_folder,
)
from harness.sandbox.wire.messages import (
    ANSWERS,
    REPLIES,
    BuildText,
    Done,
    Raised,
    Ready,
    Reply,
    Request,
    TextBuilt,
    TraceTried,
    TryTrace,
    WarmUp,
)
from harness.workspace.solution import texts_in

_POLL_S = 0.1
_MEMORY_SHARE = 0.8
_ENDING_S = 30
"""For a process that has hung up to be gone: freeing much memory takes its time."""
_PEEKED_BYTES = 2**16
_ANSWERING_S = 1.0
"""An answer is read in milliseconds, so whoever trickles longer is looked at like one that hasn't answered yet."""


class TextsNotBuilt(Exception):
    """The worker came to extensions that the referee is to build; what it answered besides is worth nothing."""

    def __init__(self, texts: tuple[ExtensionText, ...]) -> None:
        super().__init__(f"{len(texts)} extensions are yet to be built")
        self.texts = texts

    def __reduce__(self) -> tuple[type[TextsNotBuilt], tuple[tuple[ExtensionText, ...]]]:
        return TextsNotBuilt, (self.texts,)


class SolutionRaised(Exception):
    """The worker answered with an exception of the solution's."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.message)
        self.raised = raised


class WorkerProcess:
    """Context manager; on exit the process group is dead and waited for."""

    def __init__(self, launch: Launch, servers: ForkServers, stop: threading.Event, memory_gib: float | None) -> None:
        """`servers`, `stop` and `memory_gib` as Workers has them. Raises: MachineError, Interrupted."""
        self.backend: BackendName = launch.backend
        self._launch = launch
        self._started = StartedWorker(launch, servers, stop)
        self._process = self._started.process
        self._socket = self._started.socket
        self._output = self._started.output
        self._warm_up_nonce = secrets.token_hex(16)
        with contextlib.suppress(PeerClosed):  # it has ended, as _await_start() will find
            send_frame(self._socket, envelope(self._warm_up_nonce, WarmUp()))
        self._stop = stop
        self._usage = Usage(int(memory_gib * 2**30) if memory_gib else int(available_bytes() * _MEMORY_SHARE))
        self._deadline = self._timeout_s = 0.0
        self._spoke_at = math.inf
        self._excess: Excess | None = None
        self._is_ready = False
        self._still: Literal["nobody", "group", "everybody"] = "nobody"
        self._namespace: str | None = None
        self._answers = 0
        self._compilers: str | None = None
        self._built_text: str | None = None
        self._lent_texts: set[str] = set()
        self._told = Told()
        self._twins = Twins({})
        self.can_trace: bool | None = None
        """Whether its turns could be traced before it ran any code of a solution; None where nobody has asked."""
        self.protections: tuple[str, ...] = ()
        """What confines it, by name; known once it has answered."""

    def ask(self, request: Request, timeout_s: float, descriptors: Sequence[int] = ()) -> Reply:
        """Send a request and wait for its answer.

        Raises:
            SolutionRaised: the solution raised.
            TextsNotBuilt: it came to texts that the referee said it would build.
            MachineError: the process didn't even start.
            SolutionFailed: the process crashed, hung, took too much memory, or answered what no worker answers.
        """
        if not self._is_ready:
            self._await_start()
        self._refuse_excess()
        self._refuse_unasked(request)
        self.resume()
        nonce = secrets.token_hex(16)
        self._give_time(timeout_s)
        self._socket.settimeout(timeout_s)  # sending too must end
        answered: str
        reply: Reply
        try:
            send_frame(self._socket, envelope(nonce, request), descriptors)
            frame, received = receive_frame(self._socket, self._wait, bounded_int)
            for descriptor in received:
                os.close(descriptor)
            answered, reply = open_envelope(frame, REPLIES)
        except PeerClosed:
            raise self._crashed(request) from None
        except TimeoutError:
            raise self._late() from None
        except FrameError as error:
            raise self._misbehaved(f"sent what is no message: {error}") from None
        if answered != nonce:
            raise self._misbehaved("answered with a nonce that was not asked with")
        if type(reply) not in (Raised, ANSWERS[type(request)]):
            raise self._misbehaved(f"answered {type(request).__name__} with {type(reply).__name__}")
        self._answers += 1
        if texts := tuple(one.text for one in getattr(reply, "extensions", ()) if one.text is not None):
            if self._compilers is None:
                raise self._misbehaved("asked for a build that nobody had offered")
            raise TextsNotBuilt(texts)
        if self.backend == "sim":
            self._told.add(request, reply)
            reply = self._twins.settle(reply)
        reply = show_reply(reply, self._started.folder)
        if isinstance(reply, Raised):
            raise SolutionRaised(reply)
        return reply

    def try_trace(self, timeout_s: float) -> None:
        """Has `can_trace` known. Before any code of a solution runs, so what goes wrong is the machine's.

        Raises: MachineError.
        """
        try:
            reply = self.ask(TryTrace(), timeout_s)
        except SolutionRaised:  # a tracer that raises gives no trace
            self.can_trace = False
            return
        except SolutionFailed as error:
            raise MachineError(f"a worker that was to try a trace failed: {error}") from error
        assert isinstance(reply, TraceTried)
        self.can_trace = reply.can_trace

    def bring(self, folder: Path, file: str, sha256: str | None = None, compilers: str | None = None) -> str:
        """Give the worker a read-only copy of a solution's folder, with what was built earlier for the very same files;
        the path of `file` in the copy, for Load. Before any code of the solution runs. With `compilers` also what
        builders made of its texts, and it may report others.

        Raises: HarnessError where the folder's hash isn't `sha256` any more, MachineError as ask().
        """
        place = Path("solutions", folder.parent.name, folder.name)
        path = self._bring(place / file, lambda into: copy_folder(folder, into, sha256))
        self._compilers = compilers
        if compilers is not None:
            kept, lent = self._kept(), lent_extensions(self._started.folder)
            self._lent_texts = lend_texts(kept.parent, kept.name, compilers, lent)
        if self.backend == "sim":
            self._twins = Twins(texts_in(files_folder(self._started.folder) / place))
        return path

    def bring_text(self, name: str, text: str) -> str:
        """As bring(), for a single file that has no folder."""

        def write(into: Path) -> str:
            write_file(into / name, text.encode())
            return hash_contents([(name, text.encode())])

        return self._bring(Path("problems", name), write)

    def build_text(self, text: ExtensionText, key: str, namespace: str, timeout_s: float) -> TextBuilt:
        """Have a builder build it. What comes of it is kept when the worker is closed: for all that send the same text,
        if it may be shared and no other worker's files can be read or written from here, else in the `namespace` of a
        solution.

        Raises: as ask().
        """
        if not self._is_ready:
            self._await_start()
        self._namespace = SHARED if text.is_shared and READ_ONLY_FILES in self.protections else namespace
        self._built_text = key
        reply = self.ask(BuildText(text, key), timeout_s)
        assert isinstance(reply, TextBuilt)
        self.log_of(key)
        if self.backend == "sim":
            self.nvcc_calls_of(key)
        return reply

    def log_of(self, key: str) -> Path:
        """Where the compiler's output of one of this worker's extensions is kept. Raises: SolutionFailed."""
        if key in self._lent_texts:
            return self._shared / "logs" / log_name(key)
        try:
            return keep_log(own_extensions(self._started.folder), self._kept(), key, self._shown)
        except ValueError as error:
            raise self._misbehaved(f"reported {error}") from None

    def nvcc_calls_of(self, key: str) -> Path:
        """Where it is kept how the build of an extension called nvcc, WORKER_PLACE for this worker's folder. It may not
        be there. Raises: SolutionFailed."""

        def shown(text: str) -> str:
            return text.replace(str(self._started.folder), WORKER_PLACE)

        if key in self._lent_texts:
            return self._shared / "calls" / calls_name(key)
        try:
            return keep_calls(own_extensions(self._started.folder), self._kept(), key, shown)
        except ValueError as error:
            raise self._misbehaved(f"reported {error}") from None

    @property
    def folder(self) -> Path:
        """The worker's own (protocol.layout)."""
        return self._started.folder

    @property
    def pid(self) -> int:
        return self._started.process.pid

    @property
    def output(self) -> str:
        """The beginning and the end of what the process printed."""
        return self._shown(self._output.text())

    @property
    def leftovers(self) -> Leftovers:
        """What outlived it, once it is closed."""
        return self._started.leftovers

    def pause(self, thoroughly: bool = True) -> None:
        """All its processes stand still until resume(), or until the worker is asked for something. Time-outs run only
        while an answer is awaited, and a process that stands still can be ended like any other.

        If not `thoroughly` only the worker and what stayed in its process group, in microseconds.
        """
        if self._still == "everybody" or (self._still == "group" and not thoroughly):
            return
        self._started.family.stop(thoroughly)
        self._still = "everybody" if thoroughly else "group"
        self._look_at_usage()  # of turns that are over before anybody would look; said at the next question

    def resume(self) -> None:
        """Whoever was stopped goes on."""
        if self._still != "nobody":
            self._started.family.go_on(thoroughly=self._still == "everybody")
            self._still = "nobody"

    def kill(self) -> None:
        """End the whole process group without waiting; close() waits."""
        self._started.kill()

    def close(self) -> None:
        """End the whole process group, at once, and wait for it; what it has built is kept."""
        try:
            self._started.end()
            if self._namespace is not None:
                keep_builds(own_extensions(self._started.folder), self._kept(), self._built_text)
        finally:
            self._started.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _bring(self, file: Path, write: Callable[[Path], str]) -> str:
        if not self._is_ready:
            self._await_start()
        files = files_folder(self._started.folder)
        self._namespace = write(files / file.parent)
        lend(self._kept(), lent_extensions(self._started.folder))
        return str(files / file)

    def _kept(self) -> Path:
        """Where builds of what was brought are kept; `unnamed` has only logs."""
        return extensions_folder(self._launch.cache, self.backend) / (self._namespace or "unnamed")

    @property
    def _shared(self) -> Path:
        return extensions_folder(self._launch.cache, self.backend) / SHARED

    def _shown(self, text: str) -> str:
        return show_text(text, self._started.folder)

    def _refuse_unasked(self, request: Request) -> None:
        """A worker is silent between its answer and the next question; an end of file means that it is gone."""
        if select.select([self._socket], [], [], 0)[0]:
            try:
                unasked = self._socket.recv(_PEEKED_BYTES, socket.MSG_PEEK)
            except ConnectionResetError:
                unasked = b""
            if not unasked:
                raise self._crashed(request)
            raise self._misbehaved("spoke before it was asked", unasked_bytes=len(unasked))

    def _await_start(self) -> None:
        """Until then no code of a solution has run, so what goes wrong is ours or the machine's.

        Raises: MachineError.
        """
        self._give_time(START_S)
        try:
            for expected, kind in ((READY, Ready), (self._warm_up_nonce, Done)):
                frame, _ = receive_frame(self._socket, self._wait)
                nonce, reply = open_envelope(frame, REPLIES)
                if isinstance(reply, Raised):
                    raise MachineError(f"a worker didn't start: {reply.type_name}: {reply.message}")
                if nonce != expected or not isinstance(reply, kind):
                    raise MachineError("a worker didn't start: it sent something else first")
                if isinstance(reply, Ready):
                    self.protections = reply.protections
        except (PeerClosed, FrameError, SolutionFailed) as error:
            self._output.finish()
            last_line = (self.output.splitlines() or [str(error)])[-1]
            raise MachineError(f"a worker didn't start: {last_line}") from error
        self._is_ready = True

    def _give_time(self, timeout_s: float) -> None:
        """For the next answer."""
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._spoke_at = math.inf

    def _wait(self) -> None:
        """Until something can be read.

        What its processes take is looked at only while nothing comes: with a thousand of them that lasts 0.15 s, by
        which a turn's wall-clock time would be longer.
        """
        while True:
            now = time.monotonic()
            if self._stop.is_set():
                raise Interrupted
            if now > self._deadline:
                raise self._late()
            speaks = bool(select.select([self._socket], [], [], _POLL_S)[0])
            if speaks:
                self._spoke_at = min(self._spoke_at, now)
            if not speaks or now > self._spoke_at + _ANSWERING_S:
                self._look_at_usage()
                self._refuse_excess()
            if speaks:
                return

    def _look_at_usage(self) -> None:
        self._excess = self._excess or self._usage.excess(self._started.family, scratch_folder(self._started.folder))

    def _refuse_excess(self) -> None:
        if self._excess:
            raise SolutionFailed(self._excess.verdict, f"the process {self._excess.what}", self.output)

    def _late(self) -> SolutionFailed:
        return SolutionFailed(Verdict.TIMEOUT, f"no answer within {self._timeout_s:g} s", self.output or None)

    def _crashed(self, request: Request) -> SolutionFailed:
        """Raises: MachineError where it was ended with the fork server, which no solution reaches; Interrupted."""
        try:
            code = self._process.wait(timeout=min(_ENDING_S, self._timeout_s))
        except subprocess.TimeoutExpired:
            return self._misbehaved("closed the referee's socket and went on running")
        if self._process.is_orphan:
            if self._stop.is_set():
                raise Interrupted
            raise MachineError("the process that workers are forked from has ended, and with it this worker")
        ending = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended by itself with exit code {code}"
        self._output.finish()
        return SolutionFailed(
            Verdict.CRASHED, f"the process {ending} during {type(request).__name__}", self.output or None
        )

    def _misbehaved(self, what: str, **numbers: float) -> SolutionFailed:
        """`answers`: those that were in order before."""
        observed = f"on the referee's private socket the process {what}"
        return SolutionFailed.cheating("private_socket", observed, self.output, answers=self._answers, **numbers)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
