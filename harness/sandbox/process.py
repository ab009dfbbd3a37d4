"""A worker as the referee holds it: started, asked, watched, ended with its whole process group."""

from __future__ import annotations

import contextlib
import functools
import logging
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from harness.errors import Interrupted, MachineError
from harness.model.environment import BackendName
from harness.model.record import hash_contents
from harness.model.verdict import Verdict
from harness.sandbox.conversation import Conversation, WrongAnswer
from harness.sandbox.family import Leftovers
from harness.sandbox.folder import give_folders, show_text, write_file
from harness.sandbox.fork_server import START_S, ForkServers
from harness.sandbox.memory import available_bytes, oom_kills
from harness.sandbox.outcome import SolutionFailed, WorkerKilled
from harness.sandbox.start import Launch, StartedWorker
from harness.sandbox.usage import ExceededLimit, Usage
from harness.sandbox.wire.device import Finding
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.frames import PeerClosed
from harness.sandbox.wire.layout import files_folder, scratch_folder
from harness.sandbox.wire.means import CONTAINER, Level, is_at_least, is_in_container, level_of
from harness.sandbox.wire.messages import (
    Construct,
    Load,
    Raised,
    Ready,
    Reply,
    Request,
    TakeTurn,
    TraceTried,
    TryTrace,
    TurnTaken,
    WarmUp,
)

_TOLD_CHARS = 20_000
_LOG = logging.getLogger("harness")
_REMEDY = "'harness doctor' says what is missing and how to get it"
_MEMORY_SHARE = 0.8
_MORE_ROOM = 1.25
"""Times its limit that a worker would have now that it has ended, if others had much of the memory when it started."""
_SENT_BY_OTHERS = (signal.SIGKILL, signal.SIGTERM)
"""The signals of the kernel when memory runs out, of programs that watch it, and of operators."""
_ENDING_S = 30
"""The time limit for a process that has hung up to be gone: freeing much memory takes its time."""

_STAGES: dict[type, str] = {
    Load: "during the import",
    Construct: "during the module's construction",
    TakeTurn: "during a call of the module",
}
_BETWEEN = "outside of the module's calls"


class TextsNotBuilt(Exception):
    """The worker came to extensions that the referee is to build; what it answered besides is worth nothing."""

    def __init__(self, texts: tuple[ExtensionText, ...]) -> None:
        super().__init__(f"{len(texts)} extensions are yet to be built")
        self.texts = texts

    def __reduce__(self) -> tuple[type[TextsNotBuilt], tuple[tuple[ExtensionText, ...]]]:
        return TextsNotBuilt, (self.texts,)


class SolutionRaised(Exception):
    """The worker answered with an exception of the solution's, whose words are cut: they are searched for causes."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.message[:_TOLD_CHARS])
        message, traceback = raised.message[:_TOLD_CHARS], raised.traceback[-_TOLD_CHARS:]
        self.raised = replace(raised, message=message, traceback=traceback)


@dataclass(frozen=True)
class Made:
    """A module of the reference's, made and tried in a worker: what it follows from, how its parameters are drawn
    (Setting.drawn), and what compiling took (None: nothing was)."""

    of: tuple[object, ...]
    drawn: tuple[str | None, int]
    compile_s: float | None


class Attendant(Protocol):
    """The device's and the builder's part in one worker's work."""

    def check(self, request: Request, reply: Reply) -> Reply:
        """The reply as far as it may be believed. Raises: SolutionFailed."""

    def supply(self, worker: WorkerProcess, place: Path) -> None:
        """Give it what goes with the files that it was just brought, at `place`."""

    def collect(self, worker: WorkerProcess) -> None:
        """Keep what it has made. Its processes have ended, and its folder goes next."""


@dataclass(eq=False)
class WorkerProcess(AbstractContextManager["WorkerProcess"]):
    """A context manager; on exit the process group is dead and waited for."""

    launch: Launch
    servers: ForkServers
    stop: threading.Event
    memory_gib: float | None
    attendant: Attendant

    def __post_init__(self) -> None:
        """Start a worker; `servers`, `stop` and `memory_gib` are as in Workers. Raises: MachineError, Interrupted."""
        self.backend: BackendName = self.launch.kind.backend
        self._started = StartedWorker(self.launch, self.servers, self.stop)
        self._output = self._started.output
        self._conversation = Conversation(self._started.socket, self.stop, self._look)
        with contextlib.suppress(PeerClosed):  # it has ended, as await_start() will find
            self._conversation.say(WarmUp())
        self._look_at_host()
        self._excess: ExceededLimit | None = None
        self._is_ready = self._has_failed = False
        self._still: Literal["nobody", "group", "everybody"] = "nobody"
        self._answers = 0
        self.turns_ns = 0
        """The time that its turns have taken so far."""
        self.has_taken_turns = False
        """True once it has seen inputs: what it builds from then on nobody is lent."""
        self.holds_solution = False
        """True once it has files of a solution, whose code may run from then on."""
        self.namespace: str | None = None
        """The name that its builds are kept under: the hash of the files that it was brought, unless the builder says
        else."""
        self.compilers: str | None = None
        """The compilers, as in Load; where they are set the worker may report texts of extensions for others to
        build."""
        self.made: Made | None = None
        """The module that it has ready for whoever asks next; None where it has none, or nobody should rely on it."""
        self.can_trace: bool | None = None
        """True where its turns could be traced before it ran any code of a solution; None where nobody has asked."""
        self.protections: tuple[str, ...] = ()
        """The means that confine it, by name; they are known once it has answered."""

    def ask(self, request: Request, timeout_s: float, descriptors: Sequence[int] = ()) -> Reply:
        """Send a request and wait for its answer.

        Raises:
            SolutionRaised: the solution raised.
            TextsNotBuilt: it came to texts that the referee said it would build.
            MachineError: the process didn't even start.
            WorkerKilled: it was ended by a signal that others may have sent.
            SolutionFailed: the process crashed, hung, took too much memory, or answered what no worker answers.
        """
        self.await_start()
        self._refuse_excess()
        try:
            self._conversation.require_silence()
            self.resume()
            reply = self._conversation.ask(request, timeout_s, descriptors)
        except PeerClosed:
            raise self._crashed(request, timeout_s) from None
        except TimeoutError:
            late = f"no answer within {timeout_s:g} s"
            raise SolutionFailed(Verdict.TIMEOUT, late, self.output or None) from None
        except WrongAnswer as error:
            raise self.misbehaved(str(error), **error.numbers) from None
        self._answers += 1
        if texts := tuple(one.text for one in getattr(reply, "extensions", ()) if one.text is not None):
            if self.compilers is None:
                raise self.misbehaved("asked for a build that nobody had offered")
            raise TextsNotBuilt(texts)
        reply = self._shown_reply(self.attendant.check(request, reply))
        if isinstance(reply, Raised):
            raise SolutionRaised(reply)
        return reply

    def await_start(self) -> None:
        """Wait until it can be asked; its protections are known then. Until then no code of a solution has run, so what
        goes wrong is ours or the machine's.

        Raises: MachineError.
        """
        if self._is_ready:
            return
        self._conversation.give_time(START_S)
        self._has_failed = True  # unless all goes well
        try:
            reply = self._conversation.hear()
        except (PeerClosed, TimeoutError, WrongAnswer, SolutionFailed) as error:
            self._output.finish()
            last_line = (self.output.splitlines() or [str(error)])[-1]
            raise MachineError(f"a worker didn't start: {last_line}") from error
        if isinstance(reply, Raised):
            raise MachineError(f"a worker didn't start: {reply.type_name}: {reply.message}")
        assert isinstance(reply, Ready)
        self.protections = (*reply.protections, *((CONTAINER,) if is_in_container() else ()))
        self._require_confinement()
        self._is_ready, self._has_failed = True, False

    @property
    def is_unused(self) -> bool:
        """Say whether it has run nothing yet."""
        return not (self._answers or self.holds_solution or self._has_failed)

    def is_like(self, launch: Launch) -> bool:
        """Say whether it was started like this, and lives."""
        return self.launch == launch and not self._has_failed and self._started.process.poll() is None

    @property
    def confinement(self) -> Level | None:
        """The level of its confinement; None until it has answered."""
        return level_of(self.protections) if self.protections else None

    def _require_confinement(self) -> None:
        """Raises: MachineError where it is confined less than was asked for."""
        found, least = level_of(self.protections), self.launch.least
        if not is_at_least(found, least):
            remedy = "run and compare have --container IMAGE" if found == "full" else _REMEDY
            raise MachineError(f"workers are confined at level '{found}' here, and '{least}' is required: {remedy}")
        if not is_at_least(found, "full"):
            _say_once(found)

    def try_trace(self, timeout_s: float) -> None:
        """Make `can_trace` known. No code of a solution has run before, so what goes wrong is the machine's.

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

    def bring(self, files: Mapping[str, bytes], place: Path) -> Path:
        """Give the worker a copy of files at a `place` in its folder, and return that. Before any code of theirs runs.

        Raises: MachineError as ask().
        """
        self.await_start()
        self._look_at_host()
        for name, content in files.items():
            write_file(place / name, content)
        give_folders(place, scratch_folder(self.folder))
        self.namespace = hash_contents(files.items())
        self.attendant.supply(self, place)
        return place

    def bring_text(self, name: str, text: str) -> str:
        """Bring a single file, like bring(); return its path, for Load."""
        place = files_folder(self.folder) / "problems" / str(self._answers)  # one of its name may be there from before
        return str(self.bring({name: text.encode()}, place) / name)

    @property
    def folder(self) -> Path:
        """The worker's own folder (wire.layout)."""
        return self._started.folder

    @property
    def cache(self) -> Path:
        """The folder in which what outlives workers is kept."""
        return self.launch.cache

    @property
    def pid(self) -> int:
        return self._started.process.pid

    @property
    def output(self) -> str:
        """The beginning and the end of what the process printed."""
        return self._shown(self._output.text())

    @property
    def leftovers(self) -> Leftovers:
        """The processes and memory that outlived it, once it is closed."""
        return self._started.leftovers

    def misbehaved(self, what: str, **numbers: float) -> SolutionFailed:
        """A verdict on what no worker does. Its number of `answers` is of those that were in order before."""
        observed = f"on the referee's private socket the process {what}"
        return SolutionFailed.cheating("private_socket", observed, self.output, answers=self._answers, **numbers)

    def pause(self, thoroughly: bool = True) -> None:
        """Make all its processes stand still until resume(), or until the worker is asked for something. Time-outs run
        only while an answer is awaited, and a process that stands still can be ended like any other.

        If not `thoroughly` only the worker and what stayed in its process group, in microseconds.
        """
        if self._still == "everybody" or (self._still == "group" and not thoroughly):
            return
        self._started.family.stop(thoroughly)
        self._still = "everybody" if thoroughly else "group"
        self._look_at_usage()  # of turns that are over before anybody would look; said at the next question

    def resume(self) -> None:
        """Let whoever was stopped go on."""
        if self._still != "nobody":
            self._started.family.go_on(thoroughly=self._still == "everybody")
            self._still = "nobody"

    def kill(self) -> None:
        """End the whole process group without waiting; close() waits."""
        self._started.kill()

    def close(self) -> None:
        """End the whole process group, at once, and wait for it; what it has built is kept."""
        self.made = None
        try:
            self._started.end()
            self.attendant.collect(self)
        finally:
            self._started.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look_at_host(self) -> None:
        """See what memory there is now, before it takes any."""
        limit = self.memory_gib * 2**30 if self.memory_gib else available_bytes() * _MEMORY_SHARE
        self._usage = Usage(int(limit))
        self._oom_kills = oom_kills()

    def _shown_reply(self, reply: Reply) -> Reply:
        if not isinstance(reply, (Raised, TurnTaken)):
            return reply
        seen = tuple(self._shown_finding(finding) for finding in reply.findings)
        if isinstance(reply, TurnTaken):
            return replace(reply, findings=seen)
        return replace(reply, findings=seen, message=self._shown(reply.message), traceback=self._shown(reply.traceback))

    def _shown_finding(self, finding: Finding) -> Finding:
        file, code = finding.file and self._shown(finding.file), finding.code and self._shown(finding.code)
        return replace(finding, file=file, detail=self._shown(finding.detail), code=code)

    def _shown(self, text: str) -> str:
        return show_text(text, self.folder)

    def _look(self) -> None:
        """Look at its limits while an answer is awaited. Raises: SolutionFailed."""
        self._look_at_usage()
        self._refuse_excess()

    def _look_at_usage(self) -> None:
        self._excess = self._excess or self._usage.excess(self._started.family, scratch_folder(self.folder))

    def _refuse_excess(self) -> None:
        """Raises: SolutionFailed; WorkerKilled where others held so much memory when it started that its limit, a share
        of the rest, was low."""
        if self._excess is None:
            return
        failed = SolutionFailed(self._excess.verdict, f"the process {self._excess.what}", self.output)
        if self._excess.verdict is Verdict.OUT_OF_MEMORY and self.memory_gib is None:
            self._started.end()
            if available_bytes() * _MEMORY_SHARE > _MORE_ROOM * self._usage.memory_bytes:
                raise WorkerKilled(f"{failed}, what others had left then", failed)
        raise failed

    def _crashed(self, request: Request, timeout_s: float) -> SolutionFailed:
        """Make the verdict of a crash. Raises: MachineError where it was ended with the fork server, which no solution
        reaches, or by a signal that others may have sent; Interrupted."""
        try:
            code = self._started.process.wait(timeout=min(_ENDING_S, timeout_s))
        except subprocess.TimeoutExpired:
            return self.misbehaved("closed the referee's socket and went on running")
        if self._started.process.is_orphan:
            if self.stop.is_set():
                raise Interrupted
            raise MachineError("the process that workers are forked from has ended, and with it this worker")
        ending = f"was killed by {_signal_name(-code)}" if code < 0 else f"ended by itself with exit code {code}"
        self._output.finish()
        failed = SolutionFailed(
            Verdict.CRASHED, f"the process {ending} {_STAGES.get(type(request), _BETWEEN)}", self.output or None
        )
        if -code in _SENT_BY_OTHERS:
            raise self._killed(failed)
        return failed

    def _killed(self, failed: SolutionFailed) -> MachineError:
        """Make the error of an end by a signal that the process, an operator or the kernel may have sent.

        Where the kernel did for want of memory, and there is enough once all its processes are gone, it was they that
        took it, too fast to be seen.
        """
        what = str(failed)
        if not self.holds_solution:
            return MachineError(what)
        if oom_kills() == self._oom_kills:
            return WorkerKilled(what, failed)
        self._started.end()
        what = f"{what}, since the host's memory ran out"
        took_it = available_bytes() >= self._usage.memory_bytes
        return WorkerKilled(what, SolutionFailed(Verdict.OUT_OF_MEMORY, what, self.output) if took_it else None)


@functools.cache
def _say_once(level: Level) -> None:
    what = {"none": "aren't confined: they can read and write what you can", "files": "are confined only in part"}
    _LOG.warning("harness: solutions %s; %s", what[level], _REMEDY)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
