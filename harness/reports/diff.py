"""The differences between two evaluations."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from harness.model.environment import Environment, of_several_gpus
from harness.model.evaluation import Evaluation
from harness.model.record import as_json
from harness.model.statistics import Interval, ratio
from harness.reports.blocks import Block, Column, Line, Prose, Section, Span, Table, Tone, Words, verdict_span
from harness.reports.evaluation import solution_ns
from harness.reports.numbers import format_error, format_moment, format_ms, format_speedup
from harness.reports.terminal import reporting


@dataclass(frozen=True)
class ChangedFact:
    """A fact that isn't the same. `name` is its place in the record: 'timing.blocks'."""

    name: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Difference:
    """`new` against `old`. `speed` is the ratio of their speed-ups; `caution` says why it may mislead."""

    old: Evaluation
    new: Evaluation
    config: tuple[ChangedFact, ...]
    environment: tuple[ChangedFact, ...]
    cases: tuple[ChangedFact, ...]
    source: tuple[str, ...]
    """Lines of a unified diff."""
    speed: Interval | None
    caution: str | None

    @property
    def judgement(self) -> str:
        """The conclusion that the interval allows."""
        if self.speed is None:
            return "not both were timed"
        if self.speed.low > 1:
            return "the second is faster"
        return "the second is slower" if self.speed.high < 1 else "no difference shown: the interval reaches over 1"


def difference(old: Evaluation, new: Evaluation) -> Difference:
    return Difference(
        old=old,
        new=new,
        config=tuple(_changes(as_json(old.config), as_json(new.config))),
        environment=tuple(_moves(old.environment, new.environment)),
        cases=tuple(_changes({"cases": sorted(old.cases)}, {"cases": sorted(new.cases)})),
        source=tuple(_source(old, new)),
        speed=_speed(old, new),
        caution=_caution(old, new),
    )


def difference_json(found: Difference) -> dict[str, Any]:
    return {
        "old": found.old.id,
        "new": found.new.id,
        "verdicts": [found.old.verdict.value, found.new.verdict.value],
        "solution_ns": [solution_ns(found.old), solution_ns(found.new)],
        "speed": asdict(found.speed) if found.speed else None,
        "judgement": found.judgement,
        "caution": found.caution,
        "cases": [asdict(change) for change in found.cases],
        "config": [asdict(change) for change in found.config],
        "environment": [asdict(change) for change in found.environment],
        "source": list(found.source),
    }


@reporting
def difference_report(found: Difference) -> Iterator[Block]:
    yield _overview(found)
    yield Line("")
    speed = f"speed, second over first: {format_speedup(found.speed)}: " if found.speed else "speed: "
    yield Line((Span(speed, "strong"), found.judgement))
    if found.caution and found.speed:
        yield Line(f"caution: {found.caution}", "unsure")
    for title, changes in (("cases", found.cases), ("config", found.config), ("environment", found.environment)):
        if changes:
            yield Section(title, [Line(f"{one.name}: {_plain(one.old)} → {_plain(one.new)}") for one in changes])
    yield Section("source", list(_source_lines(found)), is_inset=False)


def _moves(old: Environment, new: Environment) -> Iterator[ChangedFact]:
    """torch's flags as far as older records have them, too, or they aren't torch's defaults; which GPU, where both know
    it."""
    before, after = ({**as_json(one), "flags": one.telling_flags} for one in (old, new))
    for change in _changes(before, after):
        if change.name != "gpu_uuid" or None not in (change.old, change.new):
            yield change


def _changes(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> Iterator[ChangedFact]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changes(before, after, f"{prefix}{name}.")
        elif before != after:
            yield ChangedFact(prefix + name, before, after)


def _source(old: Evaluation, new: Evaluation) -> Iterator[str]:
    for name in sorted({*old.solution.files, *new.solution.files}):
        before, after = old.solution.files.get(name, ""), new.solution.files.get(name, "")
        labels = (f"{old.solution.name}/{name} {old.id}", f"{new.solution.name}/{name} {new.id}")
        yield from difflib.unified_diff(before.splitlines(), after.splitlines(), *labels, lineterm="")


def _speed(old: Evaluation, new: Evaluation) -> Interval | None:
    """Compare the speed-ups over the first baseline that both have."""
    if old.timing is None or new.timing is None:
        return None
    for baseline in old.timing.baselines:
        if baseline in new.timing.baselines:
            before, after = old.timing.speedup_over(baseline), new.timing.speedup_over(baseline)
            return ratio(after, before) if before and after else None
    return None


def _caution(old: Evaluation, new: Evaluation) -> str | None:
    is_elsewhere = old.environment.fingerprint != new.environment.fingerprint
    several = None if is_elsewhere else of_several_gpus((old.environment.gpu_uuid, new.environment.gpu_uuid))
    reasons = {
        "they are of two problems": old.problem.name != new.problem.name,
        "the problem's files changed": old.problem.sha256 != new.problem.sha256,
        "the environments differ": is_elsewhere,
        "their times are of two metrics": old.timing is not None
        and new.timing is not None
        and old.timing.metric != new.timing.metric,
        "one is noisy": any(e.timing and e.timing.noise for e in (old, new)),
    }
    found = [reason for reason, holds in reasons.items() if holds]
    return "; ".join([*found, several] if several else found) or None


def _overview(found: Difference) -> Table:
    both = (found.old, found.new)
    rows: list[tuple[Words, ...]] = [
        ("evaluation", *(e.id for e in both)),
        ("solution", *(f"{e.problem.name}/{e.solution.name}" for e in both)),
        ("at (UTC)", *(format_moment(e.started_at, to_seconds=True) for e in both)),
        ("verdict", *(verdict_span(e.verdict) for e in both)),
        ("err/tol", *(format_error(e.checks) for e in both)),
        ("ms", *(format_ms(solution_ns(e)) for e in both)),
        ("speed-up", *(format_speedup(e.timing.speedup if e.timing else None) for e in both)),
    ]
    return Table((Column(""), Column("first"), Column("second")), rows)


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "—"
    return "—" if value is None else str(value)


def _source_lines(found: Difference) -> Iterator[Block]:
    if not found.old.solution.files or not found.new.solution.files:
        same = found.old.solution.sha256 == found.new.solution.sha256
        yield Line("the same" if same else "not the same; not both records keep their files")
    elif not found.source:
        yield Line("the same")
    tones: dict[str, Tone] = {"+": "good", "-": "bad", "@": "strong"}
    for line in found.source:
        yield Prose(line, tones.get(line[:1], "plain"))
