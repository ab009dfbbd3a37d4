"""Length-checked JSON frames over a socket, with descriptors beside them.

A frame is four bytes of length (big-endian) and that many bytes of JSON. Descriptors travel with the length
(SCM_RIGHTS). Nothing is unpickled, ever. A message stands in an envelope: a nonce, its name, its content.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any

from harness.sandbox.wire.codec import CodecError, decode, encode

MAX_FRAME_BYTES = 8 * 2**20
LARGEST_CLAIM = 2**62
"""The largest count of bytes or nanoseconds; the difference of two still fits into 64 bits."""
_MAX_DESCRIPTORS = 8


class FrameError(Exception):
    """The other side sent something that is no frame."""


class PeerClosed(Exception):
    """The other side closed the socket, or its process ended."""


def send_frame(sock: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message. Raises: PeerClosed."""
    payload = json.dumps(message, allow_nan=False).encode()
    if len(payload) > MAX_FRAME_BYTES:
        raise ValueError(f"a message of {len(payload)} bytes is over the limit of {MAX_FRAME_BYTES}")
    try:
        socket.send_fds(sock, [len(payload).to_bytes(4, "big")], list(descriptors))
        sock.sendall(payload)
    except (BrokenPipeError, ConnectionResetError) as error:
        raise PeerClosed(str(error)) from None


def bounded_int(text: str) -> int:
    """Parse an integer of a worker's. Raises: ValueError beyond LARGEST_CLAIM."""
    number = int(text)
    if abs(number) > LARGEST_CLAIM:
        raise ValueError("an integer beyond 2^62")
    return number


def receive_frame(
    sock: socket.socket, wait: Callable[[], None] = lambda: None, parse_int: Callable[[str], int] = int
) -> tuple[dict[str, Any], list[int]]:
    """Receive one message and its descriptors; `wait` is called before each read and may raise, and so may `parse_int`,
    a ValueError.

    Raises: FrameError, PeerClosed, and whatever `wait` raises.
    """
    wait()
    try:
        head, descriptors, _, _ = socket.recv_fds(sock, 4, _MAX_DESCRIPTORS)
    except ConnectionResetError as error:
        raise PeerClosed(str(error)) from None
    try:
        length = int.from_bytes(head + _read_exactly(sock, 4 - len(head), wait, started=bool(head)), "big")
        if length > MAX_FRAME_BYTES:
            raise FrameError(f"a frame of {length} bytes is announced; the limit is {MAX_FRAME_BYTES}")
        message = json.loads(_read_exactly(sock, length, wait), parse_int=parse_int)
        if not isinstance(message, dict):
            raise FrameError("a message is not a JSON object")
    except (ValueError, RecursionError) as error:  # ValueError: also bytes that are no text, numbers too long to read
        _close_all(descriptors)
        raise FrameError(f"a frame is not JSON: {error}") from None
    except BaseException:
        _close_all(descriptors)
        raise
    return message, descriptors


def _read_exactly(sock: socket.socket, count: int, wait: Callable[[], None], started: bool = True) -> bytes:
    data = b""
    if not started:
        raise PeerClosed("the socket was closed")
    while len(data) < count:
        wait()
        try:
            piece = sock.recv(min(count - len(data), 2**16))
        except ConnectionResetError as error:
            raise PeerClosed(str(error)) from None
        if not piece:
            raise PeerClosed("the socket was closed in the middle of a frame")
        data += piece
    return data


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def envelope(nonce: str, message: object) -> dict[str, Any]:
    return {"nonce": nonce, "message": type(message).__name__, "content": encode(message)}


def open_envelope(frame: dict[str, Any], known: dict[str, type]) -> tuple[str, Any]:
    """The nonce and the message. Raises: FrameError where the frame is no message of `known`."""
    nonce, name = frame.get("nonce"), frame.get("message")
    if not isinstance(nonce, str) or not isinstance(name, str) or name not in known or len(frame) != 3:
        raise FrameError(f"a message of unknown form: {str(frame)[:200]}")
    try:
        return nonce, decode(known[name], frame.get("content"))
    except CodecError as error:
        raise FrameError(str(error)) from None
