"""The answer of `harness compare`: ranks per problem, and a summary of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from harness.model.arms import Baseline
from harness.model.environment import of_several_gpus
from harness.model.evaluation import Evaluation
from harness.model.plural import several
from harness.model.ranking import (
    FastP,
    Ranked,
    Summary,
    best_per_problem,
    leading_metric,
    of_totals,
    rank,
    summarise,
)
from harness.model.statistics import geometric_mean
from harness.model.timing import Timing, fastest_baseline
from harness.model.verdict import Verdict
from harness.reports.baselines import over_table, remarks_on_baselines
from harness.reports.blocks import Block, Column, ColumnOf, Line, Span, Table, number, table_of
from harness.reports.evaluation import judgement, simulated_words
from harness.reports.numbers import format_ms, format_speedup
from harness.reports.run import (
    SOLUTION,
    TIMES,
    caveats,
    failure_section,
    heading,
    remark_lines,
    resources,
    shares,
    unexpected_lines,
)
from harness.reports.terminal import reporting
from harness.reports.untrusted import cut

_MOST_FAILURES = 20
_MOST_CAVEATS = 20
_LONGEST_REASON = 160


@reporting
def compare_report(evaluations: Sequence[Evaluation], kept: frozenset[str], verbose: bool) -> Iterator[Block]:
    """The whole answer; `kept` are the ids of evaluations that an earlier run made."""
    name_of = attrgetter("problem.name")
    for _, of_problem in groupby(sorted(evaluations, key=name_of), key=name_of):
        yield from _ranking(list(of_problem), kept)
        yield Line("")
    failed = [evaluation for evaluation in evaluations if evaluation.failure]
    if verbose:
        for evaluation in failed:
            yield from failure_section(evaluation, verbose, with_problem=True)
        yield from resources(evaluations)
        yield Line("")
    elif failed:
        yield from map(_brief, failed[:_MOST_FAILURES])
        if len(failed) > _MOST_FAILURES:
            yield Line(f"… and {len(failed) - _MOST_FAILURES} more", "faint")
        yield Line("--verbose tells more; 'harness show PROBLEM SOLUTION' shows one whole", "faint")
        yield Line("")
    yield from unexpected_lines(evaluations)
    yield from remark_lines(evaluations)
    if warning := of_several_gpus(e.environment.gpu_uuid for e in evaluations if e.timing):
        yield Line(f"remark: {warning}", "unsure")
    yield from _summary(evaluations, kept)


def rank_labels(ranked: Sequence[Ranked]) -> list[str]:
    """'1', '2=', '2=', '4', and nothing for what isn't ranked."""
    counts = Counter(one.rank for one in ranked)
    return ["" if one.rank is None else f"{one.rank}{'=' if counts[one.rank] > 1 else ''}" for one in ranked]


def _ranking(evaluations: Sequence[Evaluation], kept: frozenset[str]) -> Iterator[Block]:
    """The solutions of one problem, fastest first, with ranks that are shared where intervals overlap."""
    ranked = rank(evaluations)
    ordered = [one.evaluation for one in ranked]
    yield heading(evaluations[0])
    yield from _times_of_baseline(evaluations)
    further, note = shares(ordered)
    is_timed = any(evaluation.timing for evaluation in ordered)
    columns: list[ColumnOf[Evaluation]] = [SOLUTION, (Column("verdict"), lambda one: judgement(one)[0])]
    columns += [*(TIMES if is_timed else ()), *further, (Column(""), lambda one: _note(one, kept))]
    table = table_of(ordered, columns)
    if is_timed:
        rows = [(label, *row) for label, row in zip(rank_labels(ranked), table.rows, strict=True)]
        table = Table([number("#"), *table.columns], rows)
    yield table
    yield from note
    for one in ranked:
        if one.other_metric:
            yield Line(f"not ranked: {one.evaluation.solution.name}: {one.other_metric}")
    compared = [one.evaluation for one in ranked if not one.other_metric]
    yield from _other_baselines(compared)
    found = list(caveats(ordered))
    yield from found[:_MOST_CAVEATS]
    if len(found) > _MOST_CAVEATS:
        yield Line(f"… and {len(found) - _MOST_CAVEATS} more; 'harness show PROBLEM SOLUTION' has them", "faint")
    yield from remarks_on_baselines(evaluations)


def _times_of_baseline(evaluations: Sequence[Evaluation]) -> Iterator[Line]:
    """Show the baseline's times that those of the leading metric are compared with."""
    metric = leading_metric(e.metric for e in evaluations)
    timings = [e.timing for e in evaluations if e.timing and e.metric == metric]
    if timings:
        baseline = timings[0].baselines[0]
        times = sorted(timing.time_ns(baseline) for timing in timings if baseline in timing.baselines)
        span = " to ".join(dict.fromkeys((format_ms(times[0]), format_ms(times[-1]))))
        yield Line(f"{baseline}: {span} ms; speed-up is {baseline} over solution", "faint")
    if metric == "end_to_end":
        yield Line("all measured end to end, since the reference waits for the device itself", "unsure")


def _note(evaluation: Evaluation, kept: frozenset[str]) -> Span:
    expected = evaluation.solution.expected_verdict
    timing = evaluation.timing
    notes: list[str] = [timing.speed] if timing else []
    if timing and timing.metric != "gpu_cold":
        notes.append(timing.metric)
    if expected is not Verdict.PASSED:
        notes.append("as expected" if evaluation.verdict is expected else f"expected {expected.value}")
    notes += ["noisy"] if timing and timing.noise else []
    notes += ["fragile"] if evaluation.is_fragile else []
    notes += ["kept"] if evaluation.id in kept else []
    return Span(", ".join(notes), "faint")


def _other_baselines(evaluations: Sequence[Evaluation]) -> Iterator[Block]:
    """Compare each solution with every baseline; show nothing where there is just one."""
    timed = [(evaluation.solution.name, evaluation.timing) for evaluation in evaluations if evaluation.timing]
    names = list(dict.fromkeys(baseline for _, timing in timed for baseline in timing.baselines))
    if len(names) < 2:
        return
    yield Line("speed-up over each baseline:", "faint")
    columns = [Column("solution", is_name=True), *map(number, names)]
    yield Table(columns, [(name, *(_over(timing, baseline) for baseline in names)) for name, timing in timed])
    if fastest := [(name, over) for name, timing in timed if (over := fastest_baseline(timing))]:
        yield Line("over the fastest of them:", "faint")
        yield over_table(fastest, "fastest baseline")


def _over(timing: Timing, baseline: Baseline) -> str:
    interval = timing.speedup_over(baseline) if baseline in timing.baselines else None
    return f"{interval.estimate:.3f}×" if interval else "—"


def _brief(evaluation: Evaluation) -> Line:
    """A failure in a line."""
    assert evaluation.failure is not None
    name = f"{evaluation.problem.name}/{evaluation.solution.name}"
    checks = evaluation.failure.seen_by
    reason = f"{f' ({checks})' if checks else ''}: {evaluation.failure.reason}"
    room = _LONGEST_REASON - len(name) - len(evaluation.verdict.value)
    return Line((Span(name, "strong"), " ", *judgement(evaluation)[:1], cut(reason, max(room, 1))))


def _summary(evaluations: Sequence[Evaluation], kept: frozenset[str]) -> Iterator[Block]:
    """All of them in a few numbers, each with what it is over."""
    summary = summarise(evaluations)
    problems = {evaluation.problem.name for evaluation in evaluations}
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in summary.verdicts)
    ours = sum(evaluation.id in kept for evaluation in evaluations)
    head = f"{several(summary.evaluated, 'solution')} of {several(len(problems), 'problem')}: {counts}"
    yield Line(head + (f"; {ours} kept from earlier runs" if ours else ""), "strong")
    if evaluations[0].environment.backend == "sim":
        yield Line(simulated_words(evaluations), "unsure")
        return
    counted, _ = of_totals(evaluations)
    baselines = " or ".join(dict.fromkeys(e.timing.baselines[0] for e in counted if e.timing)) or "eager"
    yield from _mean(summary, baselines)
    if summary.left_out:
        names = ", ".join(summary.left_out)
        yield Line(f"left out of these and of fast_p, since not measured as gpu_cold: {names}")
    if summary.invalid:
        names = ", ".join(summary.invalid)
        yield Line(f"{len(summary.invalid)} invalid_problem, in no rank, mean or fast_p: {names}")
    fastest = (fastest_baseline(e.timing) for e in counted if e.timing)
    if over := [one.speedup for one in fastest if one and one.speedup]:
        mean = format_speedup(geometric_mean(over))
        yield Line(f"over the fastest baseline of each of {several(len(over), 'solution')}: {mean}")
    best = [e.speedup for e in best_per_problem(evaluations) if e.speedup]
    if best and len(problems) > 1:
        mean = format_speedup(geometric_mean(best))
        yield Line(f"over the best of each of {several(len(best), 'problem')}, of {len(problems)}: {mean}")
    if summary.fast_p:
        yield Line(f"fast_p, the share of {several(summary.fast_p[0].of, 'sample')} right and over p times as fast:")
        yield _curve(summary.fast_p)


def _mean(summary: Summary, baselines: str) -> Iterator[Line]:
    if summary.mean_speedup is None:
        why = "nothing was measured as gpu_cold" if summary.left_out else "nothing that passed was timed"
        yield Line(f"no speed-ups: {why}")
        return
    yield Line(f"geometric mean: {format_speedup(summary.mean_speedup)}")
    yield Line(
        f"over {several(summary.timed, 'speed-up')} ({baselines} over solution), of {summary.evaluated} evaluated"
    )


def _curve(points: Sequence[FastP]) -> Table:
    columns = [number("p"), *(number(f"{point.p:g}") for point in points)]
    shown = ["share", *(f"{100 * point.share:.0f} %" for point in points)]
    return Table(columns, [shown, ["count", *(str(point.faster) for point in points)]])
