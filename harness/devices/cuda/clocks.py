"""The clock of a GPU's multiprocessors, locked on request and reset however the measurement ends.

While it is locked a note in the cache says so: what ends a process at once (SIGKILL) leaves the note behind, and the
next run on that GPU resets the clock. Both happen under the GPU's lock, so a note that is found there is nobody's.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.devices.cuda.nvml import NvmlGpu, NvmlUnavailable, OpenGpu, opened_first
from harness.errors import MachineError, UsageError

_FOLDER = "locked-clocks"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NEAREST = 4


@dataclass(frozen=True)
class SmClock:
    """The clock of the GPU that torch sees first and `key` (its UUID) names. The note lies in `cache`."""

    key: str
    cache: Path
    open_gpu: OpenGpu = opened_first

    @contextmanager
    def locked(self, mhz: int) -> Iterator[None]:
        """Lock it while the block runs. Nobody can ask the driver what it was locked at before: it is reset to the
        driver's own choice. Raises: MachineError; UsageError as require_supported()."""
        with self._opened() as gpu:
            _require_supported(gpu, mhz)
            self._leave_note(mhz)
            try:
                lock = gpu.library.nvmlDeviceSetGpuLockedClocks
                _change(gpu, f"lock the clock at {mhz} MHz", lambda: lock(gpu.board, mhz, mhz))
            except MachineError:
                self._note.unlink()
                raise
            atexit.register(self._reset, gpu)  # threads may still be here when the interpreter ends
            try:
                yield
            finally:
                atexit.unregister(self._reset)
                self._reset(gpu)

    def restore(self, say: Callable[[str], None]) -> None:
        """Reset what a killed run has left locked. The caller holds the GPU's lock. Raises: MachineError."""
        mhz = self.left_at()
        if mhz is not None:
            with self._opened() as gpu:
                self._reset(gpu)
            say(f"the clock was still locked at {mhz} MHz by a run that was killed; it is reset")
        elif self._note.exists():  # of before the machine was restarted
            self._note.unlink()

    def require_supported(self, mhz: int) -> None:
        """Check a clock. Raises: UsageError if the GPU has no such clock, MachineError if none can be locked."""
        with self._opened() as gpu:
            _require_supported(gpu, mhz)

    def left_at(self) -> int | None:
        """Return the MHz that a run has locked and not reset, unless the machine was restarted since; else None."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(self._note.read_text(encoding="utf-8"))
            if note["boot"] == _boot():
                return int(note["sm_mhz"])
        return None

    @property
    def remedy(self) -> str:
        """Say how a person resets it."""
        return f"reset it with 'sudo nvidia-smi --id={self.key} --reset-gpu-clocks' and remove {self._note}"

    @property
    def _note(self) -> Path:
        return self.cache / _FOLDER / f"{re.sub('[^A-Za-z0-9-]', '_', self.key)}.json"

    def _leave_note(self, mhz: int) -> None:
        """Write the note. Raises: MachineError."""
        try:
            self._note.parent.mkdir(parents=True, exist_ok=True)
            self._note.write_text(json.dumps({"gpu": self.key, "sm_mhz": mhz, "boot": _boot()}), encoding="utf-8")
        except OSError as error:
            raise MachineError(
                f"clocks aren't locked where {self._note} can't be written ({error.strerror}): nobody would reset them "
                "after a crash; set HARNESS_CACHE to a folder of yours"
            ) from None

    def _reset(self, gpu: NvmlGpu) -> None:
        """Reset the clock; the note stays if this fails. Raises: MachineError."""
        _change(gpu, "reset the clock", lambda: gpu.library.nvmlDeviceResetGpuLockedClocks(gpu.board), self.remedy)
        self._note.unlink(missing_ok=True)

    @contextmanager
    def _opened(self) -> Iterator[NvmlGpu]:
        try:
            with self.open_gpu() as gpu:
                yield gpu
        except NvmlUnavailable as why:
            raise MachineError(f"clocks are locked and reset through NVML, and {why}") from None


def left_locked(cache: Path) -> list[SmClock]:
    """List the clocks with notes in this cache: those of runs that measure just now, or that were killed."""
    clocks = [SmClock(path.stem, cache) for path in sorted((cache / _FOLDER).glob("*.json"))]
    return [clock for clock in clocks if clock.left_at() is not None]


def _require_supported(gpu: NvmlGpu, mhz: int) -> None:
    if gpu.is_instance:
        raise MachineError(
            "the clock is the whole GPU's, and this is an instance of it (MIG) with neighbours; leave out "
            "--lock-clocks (timing.lock_sm_mhz)"
        )
    clocks = gpu.sm_clocks_mhz()
    if clocks and mhz not in clocks:
        near = sorted(sorted(clocks, key=lambda clock: abs(clock - mhz))[:_NEAREST])
        raise UsageError(f"this GPU has no clock of {mhz} MHz; the nearest are {', '.join(map(str, near))}")


def _change(gpu: NvmlGpu, what: str, change: Callable[[], None], remedy: str | None = None) -> None:
    try:
        change()
    except gpu.library.NVMLError as error:
        if error.value == gpu.library.NVML_ERROR_NO_PERMISSION:
            why = "that needs root"
            remedy = remedy or "run as root, or leave out --lock-clocks (timing.lock_sm_mhz)"
        else:
            why = str(error)
            remedy = remedy or "leave out --lock-clocks (timing.lock_sm_mhz)"
        raise MachineError(f"can't {what}: {why}; {remedy}") from None


def _boot() -> str | None:
    """Name the time since the machine started (proc(5)); no lock outlasts it."""
    with contextlib.suppress(OSError):
        return _BOOT_ID.read_text(encoding="ascii").strip()
    return None
