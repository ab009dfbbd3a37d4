"""What an evaluation must be to be ranked, and those choices in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from harness.records.entry import Entry
from harness.reports.leaderboard.precision import PrecisionClass


@dataclass(frozen=True)
class Wanted:
    """What the reader asked for. None: the board chooses."""

    environment: str | None = None
    """A fingerprint, or a part of a label that only one environment has."""
    config: str | None = None
    """The beginning of a config's hash."""
    precision: PrecisionClass | None = None


@dataclass(frozen=True)
class Candidate:
    """An environment or a config, with what the journal holds of it."""

    key: str
    label: str
    evaluations: int
    measured: int
    """Pairs of problem and solution that passed and were timed."""
    newest: str
    is_simulated: bool


def environments(entries: Iterable[Entry]) -> list[Candidate]:
    """Every environment, the board's own choice first: a GPU, then the most measured solutions, then the newest."""
    return _candidates([(e.environment, e.environment_label, e) for e in entries])


def configs(entries: Iterable[Entry]) -> list[Candidate]:
    """Every config, the board's own choice first: the most measured solutions, then the newest."""
    return _candidates([(e.config, e.config, e) for e in entries])


def chosen(what: str, candidates: Sequence[Candidate], wanted: str | None) -> Candidate:
    """The first, or the one that `wanted` names. Raises: UsageError where that is none or several."""
    if wanted is None:
        return candidates[0]
    exact = [c for c in candidates if wanted in (c.key, c.label)]
    found = exact or [c for c in candidates if c.key.startswith(wanted) or wanted.lower() in c.label]
    if len(found) == 1:
        return found[0]
    fault = "several of" if found else "none of"
    known = "; ".join(c.label for c in (found or candidates))
    raise UsageError(f"--{what} {wanted} names {fault} the {what}s with results. Choose one of: {known}")


def why_unranked(entry: Entry, environment: str, config: str, problem_sha256: str, cases: Sequence[str]) -> str | None:
    """The first rule that the evaluation breaks; None for one that is ranked. `cases`: all that the problem has."""
    missing = [case for case in cases if case not in entry.cases]
    broken = (
        (entry.backend == "sim", "simulated; times are not measured"),
        (entry.environment != environment, f"from another environment, {entry.environment_label}"),
        (entry.problem_sha256 != problem_sha256, "judged against an older version of the problem"),
        (entry.config != config, f"measured under another config, {entry.config}"),
        (not entry.expected_verdict.passed, f"kept as an example of {entry.expected_verdict.value}"),
        (not entry.verdict.passed, entry.verdict.meaning),
        (bool(missing), f"judged without case {', '.join(missing)}"),
        ("full" not in entry.cases, "judged without the case full"),
        (entry.solution_ns is None, "not timed"),
        (entry.noise is not None, f"too noisy: {entry.noise}"),
        (entry.speedup is None, "no interval of the speed-up"),
    )
    return next((reason for is_broken, reason in broken if is_broken), None)


def _candidates(named: Sequence[tuple[str, str, Entry]]) -> list[Candidate]:
    groups: dict[str, list[tuple[str, Entry]]] = {}
    for key, label, entry in named:
        groups.setdefault(key, []).append((label, entry))
    found = [_candidate(key, group[0][0], [entry for _, entry in group]) for key, group in groups.items()]
    newest_first = sorted(found, key=lambda c: c.newest, reverse=True)
    return sorted(newest_first, key=lambda c: (c.is_simulated, -c.measured))


def _candidate(key: str, label: str, entries: Sequence[Entry]) -> Candidate:
    return Candidate(
        key=key,
        label=label,
        evaluations=len(entries),
        measured=len({(e.problem, e.solution) for e in entries if e.speedup is not None}),
        newest=max(e.started_at for e in entries),
        is_simulated=all(e.backend == "sim" for e in entries),
    )
