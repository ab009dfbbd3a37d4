"""The output of a worker: drained in the background, its beginning and its end kept."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import IO

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
