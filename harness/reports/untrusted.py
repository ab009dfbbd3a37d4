"""Texts that strangers wrote, made fit for a page or a terminal: they show what they say and steer nothing."""

from __future__ import annotations

import re

# C0 and C1 controls but for tab and newline, and the marks that reorder or hide text (Trojan Source, CVE-2021-42574).
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile(r"[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]")
_LONGEST = 60_000


def harmless(text: str) -> str:
    """Controls become '�', invisible and reordering marks their code ('⟨U+202E⟩'), lone surrogates '?'."""
    plain = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    named = _INVISIBLE.sub(lambda mark: f"⟨U+{ord(mark.group()):04X}⟩", plain)
    return named.encode(errors="replace").decode()


def one_line(text: str) -> str:
    """Make a text harmless, without line breaks and runs of blanks: a name in a table."""
    return " ".join(harmless(text).split())


def quoted(text: str, mark: str) -> str:
    """Make a text harmless, with `mark` before each line: none can begin with '::', which commands GitHub's runner."""
    return "\n".join(f"{mark}{line}" for line in harmless(text).split("\n"))


def cut(text: str, longest: int) -> str:
    """Leave out the end of a text that is too long for its place, with '…' instead."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Make a text harmless; leave out the middle of a very long one, and say so."""
    plain = harmless(text)
    if len(plain) <= longest:
        return plain
    half = longest // 2
    return f"{plain[:half]}\n… {len(plain) - 2 * half:,} characters left out …\n{plain[-half:]}"
