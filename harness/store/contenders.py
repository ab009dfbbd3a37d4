"""What a leaderboard asks of the index: counts, and the evaluations that no newer one supersedes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from harness.store.tables import COLUMNS


@dataclass(frozen=True)
class Tally:
    """How many evaluations there are of a solution in one environment, under one config and version of the problem."""

    environment: str
    environment_label: str
    config: str
    problem: str
    problem_sha256: str
    solution: str
    evaluations: int
    is_measured: bool
    """One of them at least passed and was timed."""
    newest: str
    is_simulated: bool


def tally_from(values: Sequence[Any]) -> Tally:
    """Of a row of TALLIES: SQLite has numbers for true and false."""
    facts = list(values)
    for place in _CLAIMS:
        facts[place] = bool(facts[place])
    return Tally(*facts)


_CLAIMS = [place for place, field in enumerate(fields(Tally)) if field.name.startswith("is_")]


TALLIES = """
SELECT environment, min(environment_label), config, problem, problem_sha256, solution,
    count(*), count(speedup) > 0, max(started_at), min(backend = 'sim')
FROM entry WHERE counts GROUP BY environment, config, problem, problem_sha256, solution
"""

NEWEST = f"""
SELECT {", ".join(f"entry.{column}" for column in COLUMNS)} FROM entry JOIN (
    SELECT journal, offset, max(started_at || ' ' || id) FROM entry WHERE counts
    GROUP BY environment, config, problem, problem_sha256, solution, solution_sha256, cases, metric, standing
) USING (journal, offset)
"""
"""Beside the highest value of a group SQLite takes the group's other columns from the row that has it."""
