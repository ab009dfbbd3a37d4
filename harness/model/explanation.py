"""What a verdict, a check or a word of a timing means: how it comes about, what to do, where in the record to look."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """Sentences without their full stop. `look` names fields of the record, as `harness show --json` prints them."""

    meaning: str
    observed: str
    """How the referee comes to know it, and from which source."""
    causes: str
    """What usually is behind it."""
    avoid: str
    """What an honest author does."""
    look: str
