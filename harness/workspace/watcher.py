"""A wait for files to change: they are looked at a few times a second, and no service of the system's is needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.errors import InvalidFile
from harness.workspace.source_hash import hash_files, hashed_files

_INTERVAL_S = 0.25
_AT_REST_NS = 2 * 10**9
"""The age from which a file's time tells that it was written again: some file systems count whole seconds."""


class Watcher:
    """A watcher that knows the contents of some folders as they were last marked.

    `pause` is called between two looks.
    """

    def __init__(self, folders: Sequence[Path], pause: Callable[[float], None] = time.sleep) -> None:
        self._folders = folders
        self._pause = pause
        self._known: tuple[object, tuple[str, ...]] | None = None
        """Names, times and sizes at rest, and the hashes then: a solution may bring gigabytes, and may be timed now."""
        self.mark()

    def mark(self) -> None:
        """Mark what the folders hold now as the old state."""
        self._marked = self._contents()

    @contextmanager
    def setting(self, stop: threading.Event) -> Iterator[threading.Event]:
        """Set `stop`, and the event that is given, when the contents differ from the marked ones within the block."""
        saved, ended = threading.Event(), threading.Event()

        def look() -> None:
            while not ended.wait(_INTERVAL_S):
                if self._contents() != self._marked:
                    saved.set()
                    stop.set()
                    return

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            yield saved
        finally:
            ended.set()
            looking.join()

    def wait(self) -> None:
        """Wait until the contents differ from the marked ones and have been at rest between two looks: editors write in
        several steps. A file that was only touched, or changed back, is no change."""
        before = now = self._contents()
        while now != before or now == self._marked:
            self._pause(_INTERVAL_S)
            before, now = now, self._contents()

    def _contents(self) -> tuple[str, ...] | None:
        """Return a hash for each folder; None where a file went away meanwhile."""
        try:
            found = [_watched(folder) for folder in self._folders]
            facts = [(path, path.stat()) for files in found for path in files.values()]
            look = [(path, one.st_mtime_ns, one.st_size, one.st_ino) for path, one in facts]
            if self._known is not None and self._known[0] == look:
                return self._known[1]
            newest_ns = max((one.st_mtime_ns for _, one in facts), default=0)
            is_at_rest = newest_ns < time.time_ns() - _AT_REST_NS
            hashes = tuple(map(hash_files, found))
            self._known = (look, hashes) if is_at_rest else None
            return hashes
        except (OSError, InvalidFile):
            return None


def _watched(folder: Path) -> dict[str, Path]:
    """Return the files but hidden ones: editors write theirs every few letters."""
    return {name: path for name, path in hashed_files(folder).items() if not f"/{name}".count("/.")}
