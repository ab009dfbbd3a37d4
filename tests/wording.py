"""What a message must say, apart from how it says it: tests name facts, so that sentences can improve."""

from __future__ import annotations

import re


def tells(text: str | None, *facts: str) -> bool:
    """Whether a message has all of these words and numbers, each whole and in this order."""
    rest = " ".join((text or "").split())
    for fact in facts:
        found = re.search(rf"(?<![\w.]){re.escape(fact)}(?!\w|\.\d)", rest)
        if found is None:
            return False
        rest = rest[found.end() :]
    return text is not None
