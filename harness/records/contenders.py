"""What a leaderboard asks of the index: counts, and the evaluations that can decide where a solution stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from harness.records.tables import COLUMNS


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

_WHEN = "max(started_at || ' ' || id)"
"""The one highest value of a group, which makes SQLite take the group's other columns from its row, too."""

# Each step walks along an index that covers it and has its order; the wide rows are read for the chosen alone.
DECISIVE = f"""
WITH newest AS (
    SELECT journal, offset, {_WHEN} FROM entry
    WHERE counts AND environment = :environment AND config = :config GROUP BY problem, problem_sha256, solution
), judgement AS (
    SELECT journal, offset, verdict AS newest_verdict, {_WHEN} FROM entry
    WHERE counts AND is_judgement AND environment = :environment AND config = :config
    GROUP BY problem, problem_sha256, solution, solution_sha256
), rankable AS (
    SELECT journal, offset, row_number() OVER (
        PARTITION BY problem, problem_sha256, solution, solution_sha256, cases, metric
        ORDER BY started_at DESC, id DESC
    ) AS place
    FROM entry WHERE counts AND is_rankable AND environment = :environment AND config = :config
), newest_here AS (
    SELECT journal, offset, {_WHEN} FROM entry
    WHERE counts AND environment = :environment GROUP BY problem, solution
), newest_anywhere AS (
    SELECT journal, offset, {_WHEN} FROM entry WHERE counts GROUP BY problem, solution
), asked AS (
    SELECT journal, offset, min(id) FROM entry WHERE counts GROUP BY problem, problem_sha256, cases
), measured AS (
    SELECT journal, offset, min(id) FROM entry
    WHERE counts AND metric IS NOT NULL AND environment = :environment AND config = :config
    GROUP BY problem, problem_sha256, metric
), timed AS (
    SELECT journal, offset, {_WHEN} FROM entry
    WHERE counts AND baseline IS NOT NULL AND environment = :environment AND config = :config GROUP BY environment
), chosen AS (
    SELECT journal, offset FROM newest
    UNION SELECT journal, offset FROM judgement WHERE newest_verdict <> 'passed'
    UNION SELECT journal, offset FROM rankable WHERE place = 1
    UNION SELECT journal, offset FROM newest_here
    UNION SELECT journal, offset FROM newest_anywhere
    UNION SELECT journal, offset FROM asked
    UNION SELECT journal, offset FROM measured
    UNION SELECT journal, offset FROM timed
)
SELECT {", ".join(COLUMNS)} FROM chosen JOIN entry USING (journal, offset)
"""
