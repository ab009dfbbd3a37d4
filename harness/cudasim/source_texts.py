"""The text of a source travels in what is built of it, so that a finding can show its line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_PER_LITERAL = 8_000


def registrations(texts: Mapping[Path, str]) -> str:
    """C++ that hands texts by their paths to the runtime when the extension is loaded; to follow the source."""
    return "".join(_registration(str(path), text, number) for number, (path, text) in enumerate(texts.items()))


def _registration(path: str, text: str, number: int) -> str:
    pieces = [text[start : start + _PER_LITERAL] for start in range(0, len(text), _PER_LITERAL)] or [""]
    literals = "\n".join(_literal(piece) for piece in pieces)
    return f"\nstatic const bool sim_source_is_known_{number} = sim_add_source({_literal(path)},\n{literals});\n"


def _literal(text: str) -> str:
    """Any byte but letters, digits and blanks in octal, whatever macros and trigraphs would make of it."""
    encoded = text.encode(errors="replace")
    plain = (byte == 32 or (chr(byte).isalnum() and byte < 128) for byte in encoded)
    return '"' + "".join(chr(b) if is_plain else f"\\{b:03o}" for b, is_plain in zip(encoded, plain, strict=True)) + '"'
