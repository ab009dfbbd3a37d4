"""The board's totals, rules and rows in words and numbers, the same in every form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.environment import of_several_gpus
from harness.model.plural import several
from harness.model.ranking import FastP, fast_p
from harness.model.statistics import Interval, geometric_mean
from harness.model.verdict import Verdict
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing, ranked_speedups
from harness.reports.leaderboard.rules import PRECISION_CLASSES, TITLES, PrecisionClass
from harness.reports.numbers import format_ms, format_own_share, format_share, format_speedup
from harness.reports.written import written
from harness.store.entry import Entry

_MOST_NAMES = 5


@dataclass(frozen=True)
class ClassTotal:
    """One class of precision. The mean is that of the best solution of each of `measured` out of `problems`.

    All is of gpu_cold headlines: no two metrics are mixed.
    """

    precision_class: PrecisionClass
    problems: int
    measured: int
    mean_of_best: Interval | None
    of_all: tuple[FastP, ...]
    """fast_p, each solution a sample."""
    of_best: tuple[FastP, ...]
    """fast_p, each problem's best solution a sample: KernelBench's own, which has one sample per problem."""
    left_out: tuple[str, ...]
    """Names of problems that were measured by another metric, and are in none of these numbers."""
    invalid: tuple[str, ...] = ()
    """Names of problems by which nobody can be judged, and which are in none of these numbers either."""


def totals(board: Board) -> tuple[ClassTotal, ...]:
    """A total for each class that has samples, or problems that were left out."""
    found = [_total(board, name) for name in PRECISION_CLASSES]
    return tuple(total for total in found if total.of_all or total.left_out or total.invalid)


def verdict_counts(standings: Sequence[Standing]) -> tuple[tuple[Verdict, tuple[Standing, ...]], ...]:
    """The failures, most frequent first, each with the solutions that ended so."""
    failures = [s for s in standings if not s.entry.verdict.passed and s.is_comparable]
    counts = Counter(s.entry.verdict for s in failures).most_common()
    return tuple((verdict, tuple(s for s in failures if s.entry.verdict is verdict)) for verdict, _ in counts)


def _total(board: Board, name: PrecisionClass) -> ClassTotal:
    per_problem = [(p, [s for s in p.standings if s.precision_class == name and s.is_sample]) for p in board.problems]
    tried = [samples for p, samples in per_problem if samples and not _is_left_out(p)]
    best = [samples[0] for samples in tried]  # standings come fastest first
    every, speedups = [s for samples in tried for s in samples], ranked_speedups(best)
    return ClassTotal(
        precision_class=name,
        problems=len(tried),
        measured=len(speedups),
        mean_of_best=geometric_mean(speedups) if speedups else None,
        of_all=fast_p(ranked_speedups(every), len(every)),
        of_best=fast_p(speedups, len(best)),
        left_out=tuple(p.name for p, samples in per_problem if samples and _is_left_out(p)),
        invalid=tuple(
            p.name for p in board.problems if p.is_invalid and name in {s.precision_class for s in p.standings}
        ),
    )


def _is_left_out(problem: ProblemBoard) -> bool:
    return problem.metric not in (None, "gpu_cold")


@dataclass(frozen=True)
class RowView:
    """A solution's cells in all tables. `speedup` with its bounds, the times and the share of light are '—' for what
    can't be compared. `anchor` is empty where a page has no more of it."""

    standing: Standing
    anchor: str = ""

    @property
    def entry(self) -> Entry:
        return self.standing.entry

    @property
    def kind(self) -> str:
        """ranked, passed, failed, unjudged, or apart where it isn't compared here: decides colour and filter."""
        if self.standing.rank is not None:
            return "ranked"
        if not self.standing.is_comparable:
            return "apart"
        verdict = self.entry.verdict
        return "passed" if verdict.passed else "failed" if verdict.blames_solution else "unjudged"

    @property
    def precision(self) -> str:
        return TITLES[self.standing.precision_class]

    @property
    def speedup(self) -> Interval | None:
        """The headline; None for what can't be compared."""
        return self.entry.speedup if self.standing.is_comparable else None

    @property
    def rank(self) -> str:
        return str(self.standing.rank or "—")

    @property
    def time(self) -> str:
        return format_ms(self.entry.solution_ns if self.speedup else None)

    @property
    def baseline_time(self) -> str:
        return format_ms(self.entry.baseline_ns if self.speedup else None)

    @property
    def estimate(self) -> str:
        return format_speedup(self.speedup).partition(" ")[0]

    @property
    def bounds(self) -> str:
        return format_speedup(self.speedup).partition(" ")[2]

    @property
    def like(self) -> str:
        """'1.19× over eager-float32': beside the reference in the solution's own precision, where that was measured."""
        over = self.entry.like
        return f"{format_speedup(over.speedup).partition(' ')[0]} over {over.baseline}" if over and over.speedup else ""

    @property
    def light(self) -> str:
        return format_share(self.share)

    @property
    def share(self) -> float | None:
        """The share of the speed of light."""
        return self.entry.share_of_light if self.speedup else None

    @property
    def own(self) -> str:
        return format_own_share(self.entry.own_share)

    @property
    def speed(self) -> str:
        """'faster'; 'faster, end_to_end' where times aren't the device's with cold caches; 'faster, fragile'; 'faster,
        unconfined' where the solution's process could write what the user could."""
        metric = self.entry.metric if self.entry.metric != "gpu_cold" else None
        unconfined = "unconfined" if self.entry.confinement == "none" else None
        words = (self.entry.speed, metric, "fragile" if self.entry.is_fragile else None, unconfined)
        return ", ".join(word for word in words if word)

    @property
    def note(self) -> str:
        """Say that the source shown is not today's; '' where it is."""
        is_older = self.standing.is_older_source
        return "the solution has been edited since; this is its former source" if is_older else ""

    @property
    def error(self) -> str:
        return "—"

    @property
    def worst(self) -> str:
        return ""

    @property
    def short(self) -> str:
        """The text of a small cell."""
        if self.kind == "ranked":
            return self.estimate
        return "simulated" if self.entry.verdict.passed and self.entry.backend == "sim" else self.entry.verdict.value

    @property
    def tint(self) -> str:
        """The class of that cell: how far from 1× it is."""
        if self.kind != "ranked" or self.speedup is None:
            return self.kind
        if self.speedup.low <= 1 <= self.speedup.high:
            return "level"
        size = max(self.speedup.estimate, 1 / self.speedup.estimate)
        return ("up" if self.speedup.estimate > 1 else "down") + ("2" if size >= 2 else "1")


def rules(board: Board) -> tuple[str, ...]:
    """Say which evaluations are ranked, and how: a sentence each."""
    return tuple(written("rules.jinja", board=board).splitlines())


def total_sentence(total: ClassTotal) -> str:
    """'strict float32: 1.2× [1.1, 1.3], geometric mean over 3 of 4 problems': of the best solution of each."""
    title = TITLES[total.precision_class]
    left_out = left_out_note(total)
    if not total.of_all:
        return f"{title}: {left_out}"
    over = f"geometric mean over {total.measured} of {several(total.problems, 'problem')}"
    return f"{title}: {format_speedup(total.mean_of_best)}, {over}" + (f"; {left_out}" if left_out else "")


def left_out_note(total: ClassTotal) -> str | None:
    """'left out: relu, measured end to end'; None where nothing is."""
    why = ((total.left_out, "not measured as gpu_cold"), (total.invalid, "invalid_problem"))
    notes = [f"left out: {_listed(names)}, {reason}" for names, reason in why if names]
    return "; ".join(notes) or None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else several(len(names), "problem")


def problem_note(problem: ProblemBoard) -> str | None:
    """Return what a reader must know about the problem's version and its times; None where there is nothing to say."""
    notes = []
    if problem.has_newer_version:
        notes.append("A newer version of this problem has results in another environment; here it has none yet.")
    if problem.is_invalid:
        notes.append("Nobody can be judged by this problem (invalid_problem): in no rank and no total.")
    if problem.metric == "end_to_end":
        notes.append(
            "All was measured end to end, since the reference waits for the device itself: ranked among themselves, "
            "left out of the totals."
        )
    if several := of_several_gpus(s.entry.gpu_uuid for s in problem.standings if s.rank is not None):
        notes.append(f"{several[0].upper()}{several[1:]}.")
    return " ".join(notes) or None
