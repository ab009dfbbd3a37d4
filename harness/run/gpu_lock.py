"""One measurement per GPU on the whole machine: an advisory lock on a file that every user's runs know.

Two files per GPU: who wants the GPU takes its turnstile first and keeps it until the GPU is free. So a run that has
just let go of the GPU queues behind one that waits, instead of taking it right back.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import functools
import json
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import Interrupted, MachineError
from harness.plain_file import parse_json
from harness.run.cache import cache_folder

_POLL_S = 0.1
_NOTE_BYTES = 4096


@dataclass(frozen=True)
class GpuLock:
    """The lock of the GPU that `key` (its UUID) names; `name` is what people call it. Files lie in `folder`."""

    key: str
    name: str
    folder: Path

    @contextmanager
    def held(self, stop: threading.Event, notify: Callable[[str], None]) -> Iterator[None]:
        """Wait for the GPU and keep it while the block runs; the kernel lets go of it when the process ends.

        Raises: Interrupted when `stop` is set meanwhile, MachineError where the lock's files can't be used.
        """
        with self._open("turnstile") as turnstile, self._open("lock") as lock:
            tell_once = functools.cache(lambda: notify(f"waiting for {self.name}, held by {_read_note(lock)}"))
            _take(turnstile, stop, tell_once)
            try:
                _take(lock, stop, tell_once)
            finally:
                fcntl.flock(turnstile, fcntl.LOCK_UN)
            _leave_note(lock)
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    os.ftruncate(lock, 0)

    def is_held(self) -> bool:
        """Say whether some run, this one included, measures on the GPU just now."""
        return _is_held(self._path("lock"))

    def is_wanted(self) -> bool:
        """Say whether another run waits for it."""
        return _is_held(self._path("turnstile"), has_note=False)

    def made_files(self) -> list[Path]:
        """Make its files; return their paths. Raises: MachineError."""
        with self._open("turnstile"), self._open("lock"):
            return [self._path("turnstile"), self._path("lock")]

    def _path(self, kind: str) -> Path:
        return self.folder / f"harness-gpu-{re.sub('[^A-Za-z0-9-]', '_', self.key)}.{kind}"

    @contextmanager
    def _open(self, kind: str) -> Iterator[int]:
        path = self._path(kind)
        try:
            descriptor = _open_shared(path)
        except OSError as error:
            # The folder isn't made here: one that is named by a typo would part those who share the GPU.
            remedy = "make the folder" if isinstance(error, FileNotFoundError) else "remove the file"
            raise MachineError(
                f"can't lock {self.name} with {path}: {error.strerror}; {remedy}, or name another folder in "
                "HARNESS_LOCKS, the same for all who share the GPU"
            ) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def locks_folder() -> Path:
    """Return $HARNESS_LOCKS, else /tmp: TMPDIR differs between users, who would then not see each other's locks."""
    return Path(os.environ.get("HARNESS_LOCKS") or "/tmp")


def lock_files() -> list[Path]:
    """The files of the visible GPUs' locks, made where they are missing: a container has to share them. Raises:
    MachineError."""
    from harness.devices import equal_gpus

    locks = [GpuLock(gpu.uuid, f"GPU {gpu.index}", locks_folder()) for gpu in equal_gpus()]
    return [path for lock in locks for path in lock.made_files()]


@contextmanager
def alone_on_gpu(notify: Callable[[str], None]) -> Iterator[None]:
    """Keep others from measuring meanwhile on the first visible GPU, whose clock is reset where a killed run left it
    locked. Raises: MachineError."""
    from harness.devices import SmClock, equal_gpus

    gpu = equal_gpus()[0]
    with GpuLock(gpu.uuid, f"GPU {gpu.index}", locks_folder()).held(threading.Event(), notify):
        SmClock(gpu.uuid, cache_folder()).restore(notify)
        yield


def _take(descriptor: int, stop: threading.Event, tell: Callable[[], None]) -> None:
    """Lock a file. It polls, since a thread that sleeps in flock() can't be told to stop."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            tell()
            if stop.wait(_POLL_S):
                raise Interrupted from None


def _open_shared(path: Path) -> int:
    """A file that all users may lock. It lies in a folder that all may write to, so it is not followed as a link, and
    is refused where it is a second name of somebody's other file: the holder's note will be written into it.

    Opened without O_CREAT first: in a sticky folder that flag is refused on another user's file (proc_sys_fs(5),
    protected_regular).
    """
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    while True:
        try:
            descriptor = os.open(path, flags)
            break
        except FileNotFoundError:
            pass
        with contextlib.suppress(FileExistsError):  # somebody was faster
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
            os.fchmod(descriptor, 0o666)  # whatever the umask
            break
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1:
        os.close(descriptor)
        raise OSError(0, "not a plain file with one name")
    return descriptor


def _is_held(path: Path, has_note: bool = True) -> bool:
    """Say whether the lock is held; False also where the file can't be used: whoever wants the GPU will be told
    then. `has_note`: its holder leaves one."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            if not has_note or os.fstat(descriptor).st_size:  # one that was killed leaves it behind
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False


def _leave_note(lock: int) -> None:
    since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    note = json.dumps({"pid": os.getpid(), "since": since}).encode()
    os.ftruncate(lock, 0)
    os.pwrite(lock, note, 0)


def _read_note(lock: int) -> str:
    """Return words such as 'pid 4711 since 14:03:22'. Anybody may have written the file: only the forms expected are
    passed on."""
    try:
        note = parse_json(os.pread(lock, _NOTE_BYTES, 0))
        since = datetime.datetime.fromisoformat(note["since"])
        return f"pid {int(note['pid'])} since {since:%H:%M:%S}"
    except (ValueError, KeyError, TypeError):
        return "another run"
