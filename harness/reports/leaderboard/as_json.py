"""The board as JSON, for programs."""

from __future__ import annotations

import json
from typing import Any

from harness.records.ranking import FastP
from harness.records.statistics import Interval
from harness.reports.baselines import OverBaseline, over_fastest_of, over_like_of
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.rules import Candidate
from harness.reports.leaderboard.totals import ClassTotal, totals
from harness.reports.leaderboard.words import rules


def leaderboard_json(board: Board) -> str:
    """One object, indented, ending in a newline; times in nanoseconds, absent values null."""
    data = {
        "environment": _candidate(board.environment),
        "other_environments": [_candidate(c) for c in board.other_environments],
        "config": _candidate(board.config),
        "other_configs": [_candidate(c) for c in board.other_configs],
        "baseline": board.baseline,
        "rules": list(rules(board)),
        "totals": [_total(total) for total in totals(board)],
        "problems": [_problem(problem) for problem in board.problems],
    }
    return json.dumps(data, indent=2) + "\n"


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "key": candidate.key,
        "label": candidate.label,
        "evaluations": candidate.evaluations,
        "newest": candidate.newest,
        "is_simulated": candidate.is_simulated,
    }


def _total(total: ClassTotal) -> dict[str, Any]:
    return {
        "class": total.precision_class,
        "problems": total.problems,
        "measured": total.measured,
        "left_out": list(total.left_out),
        "geometric_mean_of_best": _interval(total.mean_of_best),
        "fast_p_of_all": [_fast_p(point) for point in total.of_all],
        "fast_p_of_best": [_fast_p(point) for point in total.of_best],
    }


def _problem(problem: ProblemBoard) -> dict[str, Any]:
    return {
        "name": problem.name,
        "sha256": problem.sha256,
        "precision": problem.precision,
        "cases": list(problem.cases),
        "has_newer_version": problem.has_newer_version,
        "metric": problem.metric,
        "standings": [_standing(standing) for standing in problem.standings],
    }


def _standing(standing: Standing) -> dict[str, Any]:
    entry = standing.entry
    return {
        "rank": standing.rank,
        "solution": entry.solution,
        "class": standing.precision_class,
        "verdict": entry.verdict.value,
        "is_fragile": entry.is_fragile,
        "why_unranked": standing.why_unranked,
        "speedup": _interval(standing.speedup),
        "speed": entry.speed,
        "control": _interval(standing.control),
        "metric": entry.metric,
        "noise": entry.noise,
        "solution_ns": entry.solution_ns,
        "baseline_ns": entry.baseline_ns,
        "fastest_baseline": _over(over_fastest_of(entry)),
        "like_baseline": _over(over_like_of(entry)),
        "speed_of_light_ns": entry.speed_of_light_ns,
        "share_of_light": entry.share_of_light,
        "own_share": entry.own_share,
        "light_source": entry.light_source,
        "author": entry.author,
        "evaluation": entry.id,
        "run": entry.run,
        "started_at": entry.started_at,
        "backend": entry.backend,
        "environment": entry.environment,
        "config": entry.config,
        "commit": entry.commit,
        "problem_sha256": entry.problem_sha256,
        "solution_sha256": entry.solution_sha256,
        "is_older_source": standing.is_older_source,
        "evaluations": standing.evaluations,
    }


def _over(row: OverBaseline | None) -> dict[str, Any] | None:
    """Null where there is no such baseline beside the first."""
    if row is None:
        return None
    return {
        "baseline": row.baseline,
        "ties": list(row.ties),
        "baseline_ns": row.time_ns,
        "speedup": _interval(row.speedup),
    }


def _interval(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}


def _fast_p(point: FastP) -> dict[str, float]:
    return {"p": point.p, "faster": point.faster, "of": point.of}
