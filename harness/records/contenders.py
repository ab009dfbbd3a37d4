"""What a leaderboard asks of the index: counts, and the evaluations that can decide where a solution stands."""

from __future__ import annotations

from dataclasses import dataclass

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


TALLIES = """
SELECT environment, min(environment_label), config, problem, problem_sha256, solution,
    count(*), count(speedup) > 0, max(started_at), min(backend = 'sim')
FROM entry WHERE counts GROUP BY environment, config, problem, problem_sha256, solution
"""

# Each step walks along an index that covers it and has its order; the wide rows are read for the chosen alone.
DECISIVE = f"""
WITH newest AS (
    SELECT journal, offset, row_number() OVER (
        PARTITION BY problem, problem_sha256, solution, solution_sha256, is_judgement
        ORDER BY started_at DESC, id DESC
    ) AS place
    FROM entry WHERE counts AND environment = :environment AND config = :config
), fastest AS (
    SELECT journal, offset, row_number() OVER (
        PARTITION BY problem, problem_sha256, solution, solution_sha256, cases
        ORDER BY speedup DESC, started_at, id
    ) AS place
    FROM entry WHERE counts AND is_rankable AND environment = :environment AND config = :config
), newest_here AS (
    SELECT journal, offset, row_number() OVER (
        PARTITION BY problem, solution ORDER BY started_at DESC, id DESC
    ) AS place
    FROM entry WHERE counts AND environment = :environment
), newest_anywhere AS (
    SELECT journal, offset, row_number() OVER (
        PARTITION BY problem, solution ORDER BY started_at DESC, id DESC
    ) AS place
    FROM entry WHERE counts
), asked AS (
    SELECT journal, offset, row_number() OVER (PARTITION BY problem, problem_sha256, cases) AS place
    FROM entry WHERE counts
), timed AS (
    SELECT journal, offset, row_number() OVER (ORDER BY started_at DESC, id DESC) AS place
    FROM entry WHERE counts AND baseline IS NOT NULL AND environment = :environment AND config = :config
), chosen AS (
    SELECT journal, offset FROM newest WHERE place = 1
    UNION SELECT journal, offset FROM fastest WHERE place = 1
    UNION SELECT journal, offset FROM newest_here WHERE place = 1
    UNION SELECT journal, offset FROM newest_anywhere WHERE place = 1
    UNION SELECT journal, offset FROM asked WHERE place = 1
    UNION SELECT journal, offset FROM timed WHERE place = 1
)
SELECT {", ".join(COLUMNS)} FROM chosen JOIN entry USING (journal, offset)
"""
