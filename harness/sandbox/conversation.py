"""Questions to a worker and its answers over its private socket, each within its time. What it says is a stranger's."""

from __future__ import annotations

import math
import os
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence

from harness.errors import Interrupted
from harness.sandbox.wire.frames import (
    FrameError,
    PeerClosed,
    bounded_int,
    envelope,
    open_envelope,
    receive_frame,
    send_frame,
)
from harness.sandbox.wire.messages import ANSWERS, REPLIES, Raised, Reply, Request

_POLL_S = 0.1
_PEEKED_BYTES = 2**16
_ANSWERING_S = 1.0
"""An answer is read in milliseconds, so whoever trickles longer is looked at like one that hasn't answered yet."""


class WrongAnswer(Exception):
    """An answer that no worker of ours gives: the words after 'the process …', with the numbers of the evidence."""

    def __init__(self, what: str, **numbers: float) -> None:
        super().__init__(what)
        self.numbers = numbers


class Conversation:
    """The referee's end of it. Setting `stop` makes every wait raise Interrupted; `look` is called while nothing comes,
    and may raise."""

    def __init__(self, sock: socket.socket, stop: threading.Event, look: Callable[[], None]) -> None:
        self._socket = sock
        self._stop = stop
        self._look = look
        self._nonce, self._request = "", Request()
        self._timeout_s = self._deadline = 0.0
        self._spoke_at = math.inf

    def ask(self, request: Request, timeout_s: float, descriptors: Sequence[int]) -> Reply:
        """The answer to a question. Raises: WrongAnswer, PeerClosed, TimeoutError, Interrupted, what `look` raises."""
        self.give_time(timeout_s)
        self._socket.settimeout(timeout_s)  # sending too must end
        self.say(request, descriptors)
        return self.hear()

    def say(self, request: Request, descriptors: Sequence[int] = ()) -> None:
        """Send a question. Raises: PeerClosed, TimeoutError."""
        self._nonce, self._request = secrets.token_hex(16), request
        send_frame(self._socket, envelope(self._nonce, request), descriptors)

    def give_time(self, timeout_s: float) -> None:
        """Start the time for what is heard next."""
        self._timeout_s = timeout_s
        self._deadline = time.monotonic() + timeout_s
        self._spoke_at = math.inf

    def hear(self) -> Reply:
        """The answer to the last question. Raises: as ask()."""
        try:
            frame, received = receive_frame(self._socket, self._wait, bounded_int)
            for descriptor in received:
                os.close(descriptor)
            nonce, reply = open_envelope(frame, REPLIES)
        except FrameError as error:
            raise WrongAnswer(f"sent what is no message: {error}") from None
        if nonce != self._nonce:
            raise WrongAnswer("answered with a nonce that was not asked with")
        if type(reply) not in (Raised, ANSWERS[type(self._request)]):
            raise WrongAnswer(f"answered {type(self._request).__name__} with {type(reply).__name__}")
        return reply  # type: ignore[no-any-return]

    def require_silence(self) -> None:
        """A worker is silent between its answer and the next question; an end of file means that it is gone.

        Raises: PeerClosed, WrongAnswer.
        """
        if select.select([self._socket], [], [], 0)[0]:
            try:
                unasked = self._socket.recv(_PEEKED_BYTES, socket.MSG_PEEK)
            except ConnectionResetError:
                unasked = b""
            if not unasked:
                raise PeerClosed("the socket was closed")
            raise WrongAnswer("spoke before it was asked", unasked_bytes=len(unasked))

    def _wait(self) -> None:
        """Wait until something can be read.

        What its processes take is looked at only while nothing comes: with a thousand of them that lasts 0.15 s, by
        which a turn's wall-clock time would be longer.
        """
        while True:
            now = time.monotonic()
            if self._stop.is_set():
                raise Interrupted
            if now > self._deadline:
                raise TimeoutError(f"no answer within {self._timeout_s:g} s")
            speaks = bool(select.select([self._socket], [], [], _POLL_S)[0])
            if speaks:
                self._spoke_at = min(self._spoke_at, now)
            if not speaks or now > self._spoke_at + _ANSWERING_S:
                self._look()
            if speaks:
                return
