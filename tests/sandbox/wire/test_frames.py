"""Frames over a socket, from a peer that can't be trusted."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from harness.sandbox.wire import frames
from harness.sandbox.wire.frames import FrameError, PeerClosed, bounded_int, receive_frame, send_frame

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def raw(payload: bytes, length: int | None = None) -> bytes:
    return (len(payload) if length is None else length).to_bytes(4, "big") + payload


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_a_message_arrives_as_it_was_sent(pair: Pair) -> None:
    message = {"nonce": "ab", "content": {"name": "größe ×", "list": [1, None, True, 0.1]}}
    send_frame(pair[0], message)
    assert receive_frame(pair[1]) == (message, [])


@pytest.mark.parametrize("number", [2**62 + 1, -(2**62) - 1, 10**400])
def test_a_number_beyond_every_claim_is_refused(pair: Pair, number: int) -> None:
    pair[0].sendall(raw(b'{"kernels": [{"start_ns": %d}]}' % number))
    with pytest.raises(FrameError, match=r"integer .*2\^62"):
        receive_frame(pair[1], parse_int=bounded_int)


def test_the_referees_seeds_have_63_bits(pair: Pair) -> None:
    send_frame(pair[0], {"seed": 2**63 - 1})
    send_frame(pair[0], {"bytes": 2**62})
    assert receive_frame(pair[1])[0] == {"seed": 2**63 - 1}
    assert receive_frame(pair[1], parse_int=bounded_int)[0] == {"bytes": 2**62}


def test_messages_keep_their_borders(pair: Pair) -> None:
    for number in range(3):
        send_frame(pair[0], {"number": number})
    assert [receive_frame(pair[1])[0]["number"] for _ in range(3)] == [0, 1, 2]


def test_a_message_larger_than_the_socket_s_buffer_arrives(pair: Pair) -> None:
    message = {"text": "x" * 3_000_000}
    sender = threading.Thread(target=send_frame, args=(pair[0], message))
    sender.start()
    received, _ = receive_frame(pair[1])
    sender.join()
    assert received == message


def test_descriptors_travel_beside_the_message(pair: Pair) -> None:
    reading, writing = os.pipe()
    send_frame(pair[0], {"what": "a pipe"}, [writing])
    message, (received,) = receive_frame(pair[1])
    os.write(received, b"through")
    assert (message, os.read(reading, 16)) == ({"what": "a pipe"}, b"through")
    for descriptor in (reading, writing, received):
        os.close(descriptor)


@pytest.mark.parametrize("sent", [b"", b"\0\0", raw(b'{"a": 1}')[:-1], raw(b"", length=5)])
def test_a_peer_that_leaves_is_told_apart(pair: Pair, sent: bytes) -> None:
    pair[0].sendall(sent)
    pair[0].close()
    with pytest.raises(PeerClosed):
        receive_frame(pair[1])


def test_a_peer_that_leaves_amid_a_frame_with_mail_unread_is_told_apart(pair: Pair) -> None:
    """The kernel then says ECONNRESET instead of an end."""
    pair[1].sendall(b"unread")
    pair[0].sendall(b"\0\0")
    pair[0].close()
    with pytest.raises(PeerClosed):
        receive_frame(pair[1])


def test_sending_to_a_peer_that_left_is_told_apart(pair: Pair) -> None:
    pair[1].close()
    with pytest.raises(PeerClosed):
        send_frame(pair[0], {"a": 1})


def test_a_frame_that_announces_too_much_is_refused_unread(pair: Pair) -> None:
    pair[0].sendall(raw(b"", length=8 * 2**20 + 1))
    with pytest.raises(FrameError, match=r"8388609 bytes .*announced"):
        receive_frame(pair[1])


def test_too_large_a_message_is_not_sent(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", 20)
    with pytest.raises(ValueError, match="limit of 20"):
        send_frame(pair[0], {"text": "x" * 20})


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"{'a': 1}", b"\xff\xfe\xfd", b'{"a": 1} {"b": 2}', b"[" * 100_000, b'{"a": ' + b"1" * 5000 + b"}"],
    ids=["empty", "torn", "python", "bytes", "two", "deep", "long number"],
)
def test_what_is_not_json_is_refused(pair: Pair, payload: bytes) -> None:
    pair[0].sendall(raw(payload))
    with pytest.raises(FrameError, match="is not JSON"):
        receive_frame(pair[1])


@pytest.mark.parametrize("payload", [b"[]", b'"text"', b"1", b"null"])
def test_json_that_is_no_object_is_refused(pair: Pair, payload: bytes) -> None:
    pair[0].sendall(raw(payload))
    with pytest.raises(FrameError, match="JSON object"):
        receive_frame(pair[1])


def test_what_json_cannot_carry_is_not_sent(pair: Pair) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        send_frame(pair[0], {"a": float("nan")})


@pytest.mark.parametrize("payload", [b"{", b"[]"])
def test_descriptors_of_a_refused_frame_are_closed(pair: Pair, payload: bytes) -> None:
    with open(os.devnull) as file:
        socket.send_fds(pair[0], [raw(payload)], [file.fileno()] * 3)
        before = open_descriptors()
        with pytest.raises(FrameError):
            receive_frame(pair[1])
        assert open_descriptors() == before


def test_waiting_may_end_the_receipt_and_closes_descriptors(pair: Pair) -> None:
    calls = iter([None, TimeoutError("too late")])

    def wait() -> None:
        if error := next(calls):
            raise error

    with open(os.devnull) as file:
        socket.send_fds(pair[0], [raw(b'{"a": 1}')[:6]], [file.fileno()])
        before = open_descriptors()
        with pytest.raises(TimeoutError, match="too late"):
            receive_frame(pair[1], wait)
        assert open_descriptors() == before


def test_a_frame_that_comes_in_pieces_is_put_together(pair: Pair) -> None:
    pieces = [bytes([byte]) for byte in raw(json.dumps({"a": [1, 2]}).encode())]
    message, _ = receive_frame(pair[1], lambda: pair[0].sendall(pieces.pop(0)) if pieces else None)
    assert message == {"a": [1, 2]}
