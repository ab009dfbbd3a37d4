"""The differences between two evaluations."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from harness.model.environment import of_several_gpus
from harness.model.evaluation import Evaluation
from harness.model.record import as_json
from harness.model.statistics import Interval, ratio
from harness.reports.blocks import Block, Column, Line, Prose, Section, Span, Table, Tone, Words, verdict_span
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
    """`new` against `old`."""

    old: Evaluation
    new: Evaluation

    @property
    def config(self) -> list[ChangedFact]:
        return list(_changes(as_json(self.old.config), as_json(self.new.config)))

    @property
    def environment(self) -> list[ChangedFact]:
        """torch's flags as far as older records have them, too, or they aren't torch's defaults; which GPU, where both
        know it."""
        environments = (self.old.environment, self.new.environment)
        before, after = ({**as_json(one), "flags": one.telling_flags} for one in environments)
        changes = _changes(before, after)
        return [one for one in changes if one.name not in ("gpu_uuid", "triton") or None not in (one.old, one.new)]

    @property
    def cases(self) -> list[ChangedFact]:
        return list(_changes({"cases": sorted(self.old.cases)}, {"cases": sorted(self.new.cases)}))

    @property
    def source(self) -> list[str]:
        """Lines of a unified diff."""
        lines: list[str] = []
        for name in sorted({*self.old.solution.files, *self.new.solution.files}):
            before, after = (one.solution.files.get(name, "").splitlines() for one in (self.old, self.new))
            first, second = (f"{one.solution.name}/{name} {one.id}" for one in (self.old, self.new))
            lines += difflib.unified_diff(before, after, first, second, lineterm="")
        return lines

    @property
    def speed(self) -> Interval | None:
        """The ratio of the speed-ups over the first baseline that both have."""
        old, new = self.old.timing, self.new.timing
        baseline = next((one for one in old.baselines if one in new.baselines), None) if old and new else None
        if old is None or new is None or baseline is None:
            return None
        before, after = old.speedup_over(baseline), new.speedup_over(baseline)
        return ratio(after, before) if before and after else None

    @property
    def caution(self) -> str | None:
        """The reasons why the speed may mislead; None where there are none."""
        old, new = self.old, self.new
        is_elsewhere = old.environment.fingerprint != new.environment.fingerprint
        several = None if is_elsewhere else of_several_gpus((old.environment.gpu_uuid, new.environment.gpu_uuid))
        reasons = {
            "they are of two problems": old.problem.name != new.problem.name,
            "the problem's files changed": old.problem.sha256 != new.problem.sha256,
            "the environments differ": is_elsewhere,
            "their times are of two metrics": len({e.timing.metric for e in (old, new) if e.timing}) > 1,
            "one is noisy": any(e.timing and e.timing.noise for e in (old, new)),
        }
        found = [reason for reason, holds in reasons.items() if holds]
        return "; ".join([*found, several] if several else found) or None

    @property
    def judgement(self) -> str:
        """The conclusion that the interval allows."""
        if self.speed is None:
            return "not both were timed"
        if self.speed.low > 1:
            return "the second is faster"
        return "the second is slower" if self.speed.high < 1 else "no difference shown: the interval reaches over 1"


def difference_json(found: Difference) -> dict[str, Any]:
    return {
        "old": found.old.id,
        "new": found.new.id,
        "verdicts": [found.old.verdict.value, found.new.verdict.value],
        "solution_ns": [found.old.solution_ns, found.new.solution_ns],
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


def _changes(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> Iterator[ChangedFact]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _changes(before, after, f"{prefix}{name}.")
        elif before != after:
            yield ChangedFact(prefix + name, before, after)


def _overview(found: Difference) -> Table:
    both = (found.old, found.new)
    rows: list[tuple[Words, ...]] = [
        ("evaluation", *(e.id for e in both)),
        ("solution", *(f"{e.problem.name}/{e.solution.name}" for e in both)),
        ("at (UTC)", *(format_moment(e.started_at, to_seconds=True) for e in both)),
        ("verdict", *(verdict_span(e.verdict) for e in both)),
        ("err/tol", *(format_error(e.checks) for e in both)),
        ("ms", *(format_ms(e.solution_ns) for e in both)),
        ("speed-up", *(format_speedup(e.speedup) for e in both)),
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
