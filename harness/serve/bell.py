"""Word of changes: who waits for one is woken, in another thread or in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


class Bell:
    """Rings for owners of jobs. It is safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Callable[[], None], str | None] = {}

    def ring(self, owners: Iterable[str]) -> None:
        """Wake who waits for one of these, and who waits for anybody."""
        heard = {None, *owners}
        with self._lock:
            woken = [wake for wake, owner in self._waiting.items() if owner in heard]
        for wake in woken:
            wake()

    @contextmanager
    def waking(self, wake: Callable[[], None], owner: str | None = None) -> Iterator[None]:
        """Call `wake` at each change of this owner's jobs; None: of anybody's."""
        with self._lock:
            self._waiting[wake] = owner
        try:
            yield
        finally:
            with self._lock:
                del self._waiting[wake]

    @contextmanager
    def heard(self, owner: str) -> Iterator[asyncio.Event]:
        """An event of the running loop's, set at each change of this owner's jobs."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # of a loop that has ended
                loop.call_soon_threadsafe(event.set)

        with self.waking(wake, owner):
            yield event
