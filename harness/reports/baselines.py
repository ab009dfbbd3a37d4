"""Speed-ups of solutions over each of several baselines, and the time that compiling those took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.model.arms import Baseline
from harness.model.build import CompiledBaseline
from harness.model.evaluation import Evaluation
from harness.model.plural import several
from harness.model.timing import OverBaseline, Timing, fastest_baseline
from harness.reports.blocks import Block, Column, Line, Table, number
from harness.reports.numbers import format_ms, format_speedup

_MARKS = "* the fastest"
_TIES = "= not told apart from it"


def over_table(rows: Iterable[tuple[str, OverBaseline]], head: str) -> Table:
    """Each solution, by its name, against the baseline that `head` speaks of."""
    columns = (Column("solution", is_name=True), Column(head), number("its ms"), number("speed-up over it [95 %]"))
    shown = ((name, over.named, format_ms(over.time_ns), format_speedup(over.speedup)) for name, over in rows)
    return Table(columns, list(shown))


def baselines_blocks(evaluations: Sequence[Evaluation]) -> list[Block]:
    """Every solution against every baseline, with intervals, where there are several; and what compiling took."""
    timed = [(one.solution.name, one.timing) for one in evaluations if one.timing and len(one.timing.baselines) > 1]
    blocks: list[Block] = []
    if timed:
        marks = "".join(mark_of(name, fastest_baseline(timing)) for _, timing in timed for name in timing.baselines)
        meaning = f" ({_MARKS}{f', {_TIES}' if '=' in marks else ''})" if marks else ""
        blocks += [Line(f"over each baseline{meaning}:", "faint"), _every_pair(timed)]
    return blocks + remarks_on_baselines(evaluations)


def remarks_on_baselines(evaluations: Sequence[Evaluation]) -> list[Block]:
    """Name the ratios over further baselines that aren't to be quoted, 'plain over compile: noisy: …', and what
    compiling took."""
    noisy: list[Block] = [
        Line(f"{evaluation.solution.name} over {baseline}: noisy: {reason}", "unsure")
        for evaluation in evaluations
        for baseline in (evaluation.timing.baselines[1:] if evaluation.timing else ())
        for reason in (evaluation.timing.noises_over(baseline) if evaluation.timing else ())
    ]
    return [*noisy, *(Line(line, "faint") for line in compiled_lines(evaluations))]


def mark_of(baseline: Baseline, fastest: OverBaseline | None) -> str:
    """'*' for the fastest, '=' for one that may be as fast, else ''."""
    if fastest is None:
        return ""
    return "*" if baseline == fastest.baseline else "=" if baseline in fastest.ties else ""


def compiled_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """'compile: compiled in 9.1 to 9.6 s; 1 graph, no graph breaks, no recompilations', a line per baseline."""
    found: dict[Baseline, list[CompiledBaseline]] = {}
    for one in (one for evaluation in evaluations for one in evaluation.compiled):
        found.setdefault(one.baseline, []).append(one)
    lines = []
    for baseline, all_of_it in found.items():
        times = sorted(one.compile_s for one in all_of_it)
        span = " to ".join(dict.fromkeys(f"{time:.1f}" for time in (times[0], times[-1])))
        lines.append(f"{baseline}: compiled in {span} s; {'; '.join(dict.fromkeys(map(_counts, all_of_it)))}")
    return lines


def _counts(compiled: CompiledBaseline) -> str:
    if compiled.graphs == 0:
        return "no graph came of it: it ran as eager"
    counts = (
        (compiled.graphs, "graph"),
        (compiled.graph_breaks, "graph break"),
        (compiled.recompilations, "recompilation"),
    )
    known = [several(count, noun) if count else f"no {noun}s" for count, noun in counts if count is not None]
    return ", ".join(known) or "torch doesn't count its graphs"


def _every_pair(timed: Sequence[tuple[str, Timing]]) -> Table:
    rows = []
    for name, timing in timed:
        fastest = fastest_baseline(timing)
        for place, baseline in enumerate(timing.baselines):
            marked = f"{baseline} {mark_of(baseline, fastest)}".rstrip()
            times = (format_ms(timing.time_ns(baseline)), format_speedup(timing.speedup_over(baseline)))
            rows.append(("" if place else name, marked, *times))
    columns = (Column("solution", is_name=True), Column("baseline"), number("its ms"), number("speed-up [95 %]"))
    return Table(columns, rows)
