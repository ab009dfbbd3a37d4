"""The conditions for an evaluation to be ranked, and the class in which it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from harness.errors import UsageError
from harness.model.arms import Metric
from harness.model.ranking import other_metric
from harness.model.verdict import Verdict
from harness.store.entry import Entry, Tally

PrecisionClass = Literal["float64", "float32", "tf32", "half"]
"""Classes of arithmetic that are ranked apart: fewer bits are faster, and no merit of the kernel."""

PRECISION_CLASSES: tuple[PrecisionClass, ...] = get_args(PrecisionClass)

TITLES: dict[PrecisionClass, str] = {
    "float64": "float64",
    "float32": "strict float32",
    "tf32": "tf32",
    "half": "half (float16, bfloat16)",
}
"""The classes in headings."""


@dataclass(frozen=True)
class Wanted:
    """The reader's choice. Where a field is None, the board chooses."""

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


def environments(tallies: Iterable[Tally]) -> list[Candidate]:
    """Every environment, the board's own choice first: a GPU, then the most measured solutions, then the newest."""
    return _candidates(tallies, lambda t: (t.environment, t.environment_label))


def configs(tallies: Iterable[Tally]) -> list[Candidate]:
    """Every config of these, the board's own choice first: the most measured solutions, then the newest."""
    return _candidates(tallies, lambda t: (t.config, t.config))


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


@dataclass(frozen=True)
class BoardConditions:
    """The conditions that the evaluations of one problem are held against."""

    environment: str
    config: str
    sha256: str
    """The version of the problem."""
    cases: tuple[str, ...]
    """All that any evaluation of this version of the problem was asked for."""
    metric: Metric | None
    """The metric by which solutions are ranked, of those by which any was measured; None where none was."""
    is_invalid: bool
    """The newest evaluation of some solution says that nobody can be judged by this version of the problem: it is in no
    rank and no total."""


def is_comparable(entry: Entry, conditions: BoardConditions) -> bool:
    here = (conditions.environment, conditions.config, conditions.sha256)
    return (entry.environment, entry.config, entry.problem_sha256) == here


def why_unranked(entry: Entry, conditions: BoardConditions) -> str | None:
    """The first rule that the evaluation breaks; None for one that is ranked."""
    return next(_broken_rules(entry, conditions), None)


def _broken_rules(entry: Entry, conditions: BoardConditions) -> Iterator[str]:
    if entry.backend == "sim":
        yield "simulated; times are not measured"
    if entry.environment != conditions.environment:
        yield f"from another environment, {entry.environment_label}"
    if entry.problem_sha256 != conditions.sha256:
        yield "judged against an older version of the problem"
    if entry.config != conditions.config:
        yield f"measured under another config, {entry.config}"
    if not entry.expected_verdict.passed and entry.verdict is not Verdict.UNSUPPORTED:
        yield f"kept as an example of {entry.expected_verdict.value}"
    if not entry.verdict.passed:
        yield entry.verdict.meaning
    if conditions.is_invalid:
        yield "the problem is invalid, says the newest evaluation of another solution"
    if entry.cases != conditions.cases and (missing := [case for case in conditions.cases if case not in entry.cases]):
        yield f"judged without case {', '.join(missing)}"
    if "full" not in entry.cases:
        yield "judged without the case full"
    if entry.solution_ns is None:
        yield "not timed"
    if (other := other_metric(entry.metric, conditions.metric)) is not None:
        yield other
    if entry.noise is not None:
        yield f"too noisy: {entry.noise}"
    if entry.speedup is None:
        yield "no interval of the speed-up"


def class_of(entry: Entry) -> PrecisionClass:
    """Return the class of the precision that the solution declares; the problem's where it declares nothing.

    Any other word counts as half: the class in which one that this version doesn't know can wrong nobody.
    """
    declared = entry.solution_precision or entry.problem_precision
    return next((name for name in PRECISION_CLASSES if name == declared), "half")


def _candidates(tallies: Iterable[Tally], key_of: Callable[[Tally], tuple[str, str]]) -> list[Candidate]:
    """`key_of` gives a tally's key and label."""
    groups: dict[tuple[str, str], list[Tally]] = {}
    for tally in tallies:
        groups.setdefault(key_of(tally), []).append(tally)
    found = [
        Candidate(
            key=key,
            label=label,
            evaluations=sum(t.evaluations for t in group),
            measured=len({(t.problem, t.solution) for t in group if t.is_measured}),
            newest=max(t.newest for t in group),
            is_simulated=all(t.is_simulated for t in group),
        )
        for (key, label), group in groups.items()
    ]
    newest_first = sorted(found, key=lambda c: (c.newest, c.key), reverse=True)
    return sorted(newest_first, key=lambda c: (c.is_simulated, -c.measured))
