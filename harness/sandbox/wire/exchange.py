"""The form of messages in frames: a nonce, the name of the message, its content."""

from __future__ import annotations

from typing import Any

from harness.sandbox.wire.codec import CodecError, decode, encode
from harness.sandbox.wire.frames import FrameError

READY = "ready"
"""The nonce of the one message that a worker sends unasked: it stands, and no code of a solution has run yet."""


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
