"""The worker's loop, with a device that only remembers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.sandbox.wire.frames import envelope, open_envelope, receive_frame, send_frame
from harness.sandbox.wire.messages import REPLIES, Raised, Ready, WarmUp
from harness.worker.serve import serve


class ColdDevice:
    """Counts how often it was warmed up, or refuses to be."""

    def __init__(self, error: Exception | None = None) -> None:
        self.warmed_up = 0
        self._error = error

    def warm_up(self) -> None:
        self.warmed_up += 1
        if self._error is not None:
            raise self._error

    def take_findings(self) -> tuple[tuple[()], int]:
        return (), 0

    def account(self) -> None:
        return None


@contextmanager
def served(device: Any) -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    extensions: Any = type("NoExtensions", (), {"take_reports": lambda self: ()})()
    thread = threading.Thread(target=serve, args=(theirs, device, extensions, ("own user",), lambda: None))
    thread.start()
    ours.settimeout(20)
    yield ours
    ours.close()
    thread.join()
    theirs.close()


def test_a_worker_stands_once_its_device_is_warm() -> None:
    device = ColdDevice()
    with served(device) as ours:
        assert device.warmed_up == 0
        send_frame(ours, envelope("ab12", WarmUp()))
        assert open_envelope(receive_frame(ours)[0], REPLIES) == ("ab12", Ready(("own user",)))
        assert device.warmed_up == 1


def test_a_device_that_cannot_be_used_is_told() -> None:
    with served(ColdDevice(RuntimeError("CUDA error: out of memory"))) as ours:
        send_frame(ours, envelope("ab12", WarmUp()))
        nonce, reply = open_envelope(receive_frame(ours)[0], REPLIES)
        assert nonce == "ab12"
        assert isinstance(reply, Raised)
        assert reply.message == "CUDA error: out of memory"
