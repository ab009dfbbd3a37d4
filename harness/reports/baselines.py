"""How solutions do against each of several baselines, and what compiling those took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from harness.records.arms import Baseline
from harness.records.compiled import CompiledBaseline
from harness.records.entry import Entry
from harness.records.evaluation import Evaluation
from harness.records.fastest import Fastest, fastest_baseline
from harness.records.statistics import Interval
from harness.records.timing import Timing
from harness.reports.numbers import format_ms, format_speedup
from harness.reports.untrusted import one_line

_NAME_WIDTH = 8
MARKS = "* the fastest"
TIES = "= not told apart from it"


@dataclass(frozen=True)
class OverBaseline:
    """A solution against one of its baselines, as a rule the fastest."""

    solution: str
    baseline: str
    time_ns: float
    speedup: Interval | None
    ties: tuple[str, ...]

    @property
    def named(self) -> str:
        """'compile', or 'compile = eager' where the two can't be told apart."""
        return " = ".join((self.baseline, *self.ties))


def over_fastest(evaluation: Evaluation) -> OverBaseline | None:
    """None where there aren't several baselines."""
    fastest = fastest_baseline(evaluation.timing) if evaluation.timing else None
    if fastest is None:
        return None
    return OverBaseline(evaluation.solution.name, fastest.baseline, fastest.time_ns, fastest.speedup, fastest.ties)


def over_fastest_of(entry: Entry) -> OverBaseline | None:
    """As over_fastest(), of a row of the index."""
    if entry.fastest_baseline is None or entry.fastest_ns is None:
        return None
    speedup = None
    if entry.fastest_speedup and entry.fastest_speedup_low and entry.fastest_speedup_high:
        speedup = Interval(entry.fastest_speedup, entry.fastest_speedup_low, entry.fastest_speedup_high, 0.95)
    ties = tuple((entry.fastest_ties or "").split())
    return OverBaseline(entry.solution, entry.fastest_baseline, entry.fastest_ns, speedup, ties)


def over_like_of(entry: Entry) -> OverBaseline | None:
    """Against the reference in the precision that the solution declares; None where that wasn't measured."""
    if entry.like_baseline is None or entry.like_ns is None:
        return None
    speedup = None
    if entry.like_speedup and entry.like_speedup_low and entry.like_speedup_high:
        speedup = Interval(entry.like_speedup, entry.like_speedup_low, entry.like_speedup_high, 0.95)
    return OverBaseline(entry.solution, entry.like_baseline, entry.like_ns, speedup, ())


def like_table(rows: Sequence[OverBaseline]) -> Table:
    """Each solution against the reference in its own precision."""
    return _rows_table(rows, "in its precision")


def fastest_table(rows: Sequence[OverBaseline]) -> Table:
    """Each solution against the fastest of its baselines."""
    return _rows_table(rows, "fastest baseline")


def _rows_table(rows: Sequence[OverBaseline], head: str) -> Table:
    table = _table("solution", head, "its ms", "speed-up over it [95 %]")
    for row in rows:
        speedup = format_speedup(row.speedup)
        table.add_row(Text(one_line(row.solution)), row.named, format_ms(row.time_ns), speedup)
    return table


def baselines_parts(evaluations: Sequence[Evaluation]) -> list[RenderableType]:
    """Every solution against every baseline, with intervals, where there are several; and what compiling took."""
    timed = [(one.solution.name, one.timing) for one in evaluations if one.timing and len(one.timing.baselines) > 1]
    parts: list[RenderableType] = []
    if timed:
        marks = [mark_of(baseline, fastest_baseline(timing)) for _, timing in timed for baseline in timing.baselines]
        meaning = f" ({legend(marks)})" if any(marks) else ""
        parts += [Text(f"over each baseline{meaning}:", style="dim"), _every_pair(timed)]
    parts += [Text(line, style="yellow") for line in noisy_lines(evaluations)]
    return [*parts, *(Text(line, style="dim") for line in compiled_lines(evaluations))]


def noisy_lines(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """'plain over compile: noisy: …', for each baseline beyond the first whose ratio isn't to be quoted."""
    for evaluation in evaluations:
        timing = evaluation.timing
        if timing is None:
            continue
        for baseline in timing.baselines[1:]:
            for reason in timing.noises_over(baseline):
                yield one_line(f"{evaluation.solution.name} over {baseline}: noisy: {reason}")


def mark_of(baseline: Baseline, fastest: Fastest | None) -> str:
    """'*' for the fastest, '=' for who may be as fast, else ''."""
    if fastest is None:
        return ""
    return "*" if baseline == fastest.baseline else "=" if baseline in fastest.ties else ""


def legend(marks: Sequence[str]) -> str:
    """What the marks mean that are there."""
    return f"{MARKS}, {TIES}" if "=" in marks else MARKS


def compiled_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """'compile: compiled in 9.1 to 9.6 s; 1 graph, no graph breaks, no recompilations', a line per baseline."""
    return [f"{baseline}: {facts}" for baseline, facts in compiled_facts(evaluations)]


def compiled_facts(evaluations: Sequence[Evaluation]) -> Iterator[tuple[Baseline, str]]:
    """Each compiled baseline, with what compiling it took and gave."""
    found: dict[Baseline, list[CompiledBaseline]] = {}
    for one in (one for evaluation in evaluations for one in evaluation.compiled):
        found.setdefault(one.baseline, []).append(one)
    for baseline, all_of_it in found.items():
        times = sorted(one.compile_s for one in all_of_it)
        span = " to ".join(dict.fromkeys(f"{time:.1f}" for time in (times[0], times[-1])))
        yield baseline, f"compiled in {span} s; {'; '.join(dict.fromkeys(map(_counts, all_of_it)))}"


def _counts(compiled: CompiledBaseline) -> str:
    if compiled.graphs == 0:
        return "no graph came of it: it ran as eager"
    counts = (
        (compiled.graphs, "graph"),
        (compiled.graph_breaks, "graph break"),
        (compiled.recompilations, "recompilation"),
    )
    known = [_several(count, noun) for count, noun in counts if count is not None]
    return ", ".join(known) or "torch doesn't count its graphs"


def _several(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def _every_pair(timed: Sequence[tuple[str, Timing]]) -> Table:
    table = _table("solution", "baseline", "its ms", "speed-up [95 %]")
    for name, timing in timed:
        fastest = fastest_baseline(timing)
        for number, baseline in enumerate(timing.baselines):
            table.add_row(
                Text("" if number else one_line(name)),
                f"{baseline} {mark_of(baseline, fastest)}".rstrip(),
                format_ms(timing.time_ns(baseline)),
                format_speedup(timing.speedup_over(baseline)),
            )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(columns[0], overflow="fold", min_width=_NAME_WIDTH)
    table.add_column(columns[1], overflow="fold")
    for column in columns[2:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table
