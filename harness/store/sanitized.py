"""Faults that only a look at every access finds: a pass without that look hides none of them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.store.entry import Entry
from harness.store.index import Index


def sanitized_fault(entries: Sequence[Entry], index: Index) -> Entry | None:
    """Return what the last look at every access found, where the newest evaluation passes the same files without it.

    `entries` are those of one solution, oldest first, and at least one.
    """
    last = entries[-1]
    files = last.solution_sha256, last.problem_sha256
    same = [one for one in entries if one.backend == "sim" and (one.solution_sha256, one.problem_sha256) == files]
    same = [one for one in same if one.verdict.passed or one.verdict.blames_solution]
    if not (last.verdict.passed and any(one.verdict.blames_solution for one in same)):
        return None
    looked = (one for one in reversed(same) if index.evaluation(one.id).config.correctness.sanitize)
    found = next(looked, last)
    return found if found.verdict.blames_solution else None
