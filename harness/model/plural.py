"""Counts in words."""

from __future__ import annotations


def several(count: int, noun: str, plural: str | None = None) -> str:
    """'1 solution', '2 solutions', '2 processes'; `plural` where an s isn't enough."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
