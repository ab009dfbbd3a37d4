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

Look = tuple[tuple[str, int, int], ...]


class Watcher:
    """A watcher that knows the contents of some folders as they were last marked.

    `pause` is called between two looks.
    """

    def __init__(self, folders: Sequence[Path], pause: Callable[[float], None] = time.sleep) -> None:
        self._folders = folders
        self._pause = pause
        self.mark()

    def mark(self) -> None:
        """Mark what the folders hold now as the old state."""
        self._marked = self._contents()

    @contextmanager
    def setting(self, stop: threading.Event) -> Iterator[threading.Event]:
        """Set `stop`, and the event that is given, when the contents differ from the marked ones within the block."""
        saved, ended = threading.Event(), threading.Event()

        def look() -> None:
            last: Look | None = None  # contents may have changed before the first look
            while not ended.wait(_INTERVAL_S):
                before, last = last, self._look()
                if last != before and self._contents() != self._marked:
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
        before = self._look()
        settled = before  # contents may have changed before the first look
        is_checked = False
        while True:
            if before == settled and not is_checked:
                if self._contents() != self._marked:
                    return
                is_checked = True
            self._pause(_INTERVAL_S)
            settled, before = before, self._look()
            is_checked = is_checked and before == settled

    def _look(self) -> Look | None:
        """Return names, times and sizes, which is cheap; None where a file went away meanwhile."""
        try:
            found = []
            for folder in self._folders:
                for path in _watched(folder).values():
                    facts = path.stat()
                    found.append((str(path), facts.st_mtime_ns, facts.st_size))
            return tuple(found)
        except (OSError, InvalidFile):
            return None

    def _contents(self) -> tuple[str, ...] | None:
        try:
            return tuple(hash_files(_watched(folder)) for folder in self._folders)
        except (OSError, InvalidFile):
            return None


def _watched(folder: Path) -> dict[str, Path]:
    """Return the files but hidden ones: editors write theirs every few letters."""
    return {name: path for name, path in hashed_files(folder).items() if not f"/{name}".count("/.")}
