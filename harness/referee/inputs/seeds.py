"""One master seed, and every other derived from it: secret until the record is written, reproducible afterwards."""

from __future__ import annotations

import hashlib
import secrets


def draw_master_seed() -> int:
    return secrets.randbits(63)


def derive(master: int, *purpose: object) -> int:
    """A 63-bit seed for one purpose; says nothing about the others."""
    text = repr((master, *purpose)).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1
