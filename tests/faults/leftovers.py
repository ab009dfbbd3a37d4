"""What the solutions that leave processes behind start, known by its name or its command line."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType

CHILDREN = {
    "leaves_an_orphan": b"orphan of the corpus",
    "leaves_a_fork": b"orphaned fork",
    "floods_processes": b"sleep\x001000\x00",
    "child_memory_grab": b"child that grabs memory",
}
"""Of each such solution, what stands in /proc for its child."""
_ROUND_S = 0.02


def living() -> set[str]:
    """The solutions whose children live."""
    texts = [_text(path) for path in Path("/proc").glob("[0-9]*")]
    return {name for name, mark in CHILDREN.items() if any(mark in text for text in texts)}


class Lookout:
    """Looks at what lives for as long as it is entered; `seen` are the solutions of which something did, ever."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __enter__(self) -> None:
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(_ROUND_S):
            self.seen |= living()


def _text(process: Path) -> bytes:
    """Its name and its command line; nothing of one that has ended."""
    try:
        _, _, named = (process / "stat").read_bytes().partition(b"(")
        name, _, facts = named.rpartition(b") ")
        return name + b"\0" + (process / "cmdline").read_bytes() if facts[:1] not in (b"Z", b"X") else b""
    except OSError:  # it has ended meanwhile
        return b""
