"""A sitting's evaluations side by side: ranks per problem, and a summary of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.records.arms import Baseline, Metric
from harness.records.environment import of_several_gpus
from harness.records.evaluation import Evaluation
from harness.records.ranking import (
    FastP,
    Ranked,
    Summary,
    best_per_problem,
    leading_metric,
    metric_of,
    of_totals,
    rank,
    summarise,
)
from harness.records.statistics import Interval, geometric_mean
from harness.records.timing import Timing
from harness.records.verdict import Verdict
from harness.reports.baselines import compiled_lines, fastest_table, noisy_lines, over_fastest
from harness.reports.console import (
    LIGHT,
    OWN,
    failure_text,
    noise_text,
    precision_text,
    resources_text,
    simulated_text,
    verdict_text,
)
from harness.reports.evidence import seen_by
from harness.reports.numbers import format_ms, format_own_share, format_share, format_speedup, light_note
from harness.reports.untrusted import harmless

_MOST_FAILURES = 20
_MOST_CAVEATS = 20
_NAME_WIDTH = 8
_SHORT = {
    "eager": "eager",
    "compile": "compile",
    "compile-max-autotune": "max-\nautotune",
    "cudnn-benchmark": "cudnn-\nbenchmark",
    "channels-last": "channels-\nlast",
}


def print_comparison(console: Console, evaluations: Sequence[Evaluation], kept: frozenset[str], verbose: bool) -> None:
    """The whole answer; `kept` are the ids of evaluations that an earlier run made."""
    by_problem: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        by_problem.setdefault(evaluation.problem.name, []).append(evaluation)
    for name in sorted(by_problem):
        console.print(ranking_table(by_problem[name], kept))
        console.print()
    for part in _failures(evaluations, verbose):
        console.print(part)
    for evaluation in evaluations if verbose else ():
        if evaluation.builds:
            console.print(resources_text(evaluation))
    for remark, count in Counter(remark for e in evaluations for remark in e.remarks).items():
        times = f" ({count} solutions)" if count > 1 else ""
        console.print(Text(harmless(f"remark: {remark}{times}"), style="dim"))
    if several := of_several_gpus(e.environment.gpu_uuid for e in evaluations if e.timing):
        console.print(Text(f"remark: {several}", style="yellow"))
    console.print(summary_text(evaluations, kept))


def ranking_table(evaluations: Sequence[Evaluation], kept: frozenset[str]) -> RenderableType:
    """The solutions of one problem, fastest first, with ranks that are shared where intervals overlap."""
    ranked = rank(evaluations)
    leading = leading_metric(map(metric_of, evaluations))
    timed = any(one.evaluation.timing for one in ranked)
    table = Table(box=None, pad_edge=False, header_style="bold")
    if timed:
        table.add_column("#", justify="right", no_wrap=True)
    table.add_column("solution", overflow="fold", min_width=_NAME_WIDTH)
    table.add_column("verdict", no_wrap=True)
    shares = [(e.solution.name, e.share_of_light, e.light_source) for e in (one.evaluation for one in ranked)]
    light = light_note(shares)
    has_own = any(one.evaluation.own_share is not None for one in ranked)
    columns = (*(("ms", "speed-up [95 %]") if timed else ()), *((LIGHT,) if light else ()))
    for column in (*columns, *((OWN,) if has_own else ())):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
    labels = rank_labels(ranked)
    for label, one in zip(labels, ranked, strict=True):
        share = [format_share(one.evaluation.share_of_light)] if light else []
        own = [format_own_share(one.evaluation.own_share)] if has_own else []
        cells = (*([label] if timed else []), *_row(one.evaluation, timed), *share, *own)
        table.add_row(*cells, _note(one.evaluation, kept))
    parts: list[RenderableType] = [_title(evaluations, leading), table]
    parts += [Text(light, style="dim")] if light else []
    parts += [
        Text(harmless(f"not ranked: {one.evaluation.solution.name}: {one.other_metric}"))
        for one in ranked
        if one.other_metric
    ]
    caveats = _caveats([one.evaluation for one in ranked])
    ranked = [one for one in ranked if not one.other_metric]
    if others := _other_baselines(ranked):
        fastest = [row for one in ranked if (row := over_fastest(one.evaluation))]
        parts += [Text("speed-up over each baseline:", style="dim"), others]
        parts += [Text("over the fastest of them:", style="dim"), fastest_table(fastest)] if fastest else []
        parts += [Text(line, style="yellow") for line in noisy_lines([one.evaluation for one in ranked])]
    parts += caveats
    parts += [Text(line, style="dim") for line in compiled_lines(evaluations)]
    return Group(*parts)


def _caveats(evaluations: Sequence[Evaluation]) -> list[Text]:
    """What makes a time noisy, and why an interval is wider than was asked for."""
    found = [line for line in (*map(noise_text, evaluations), *map(precision_text, evaluations)) if line]
    more = len(found) - _MOST_CAVEATS
    return found[:_MOST_CAVEATS] + (
        [Text(f"… and {more} more; 'harness show ID' has them", style="dim")] if more > 0 else []
    )


def rank_labels(ranked: Sequence[Ranked]) -> list[str]:
    """'1', '2=', '2=', '4', and nothing for what isn't ranked."""
    counts = Counter(one.rank for one in ranked)
    return ["" if one.rank is None else f"{one.rank}{'=' if counts[one.rank] > 1 else ''}" for one in ranked]


def summary_text(evaluations: Sequence[Evaluation], kept: frozenset[str]) -> RenderableType:
    """All of them in a few numbers, each with what it is over."""
    summary = summarise(evaluations)
    problems = {evaluation.problem.name for evaluation in evaluations}
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in summary.verdicts)
    head = f"{_several(summary.evaluated, 'solution')} of {_several(len(problems), 'problem')}: {counts}"
    ours = sum(evaluation.id in kept for evaluation in evaluations)
    lines: list[RenderableType] = [Text(head + (f"; {ours} kept from earlier runs" if ours else ""), style="bold")]
    if evaluations[0].environment.backend == "sim":
        return Group(*lines, Text(simulated_text(evaluations[0]), style="yellow"))
    counted, _ = of_totals(evaluations)
    lines.append(Text(_mean(summary, _headline(counted))))
    if summary.left_out:
        names = ", ".join(map(harmless, summary.left_out))
        lines.append(Text(f"  left out of these and of fast_p, since not measured as gpu_cold: {names}"))
    if summary.invalid:
        names = ", ".join(map(harmless, summary.invalid))
        lines.append(Text(f"  {len(summary.invalid)} invalid_problem, in no rank, mean or fast_p: {names}"))
    over = [row.speedup for e in counted if (row := over_fastest(e)) and row.speedup]
    if over:
        mean = format_speedup(geometric_mean(over))
        lines.append(Text(f"  over the fastest baseline of each of {_several(len(over), 'solution')}: {mean}"))
    best = best_per_problem(evaluations)
    speedups = [interval for e in best if e.timing and (interval := e.timing.speedup)]
    if speedups and len(problems) > 1:
        mean = format_speedup(geometric_mean(speedups))
        lines.append(Text(f"  over the best of each of {len(speedups)} problems, of {len(problems)}: {mean}"))
    if summary.fast_p:
        lines += [Text(f"fast_p, the share of {summary.fast_p[0].of} samples right and over p times as fast:"),
                  _curve(summary.fast_p)]  # fmt: skip
    return Group(*lines)


def _row(evaluation: Evaluation, timed: bool) -> list[str | Text]:
    row: list[str | Text] = [Text(harmless(evaluation.solution.name)), verdict_text(evaluation.verdict)]
    if timed:
        timing = evaluation.timing
        row += [format_ms(timing.time_ns("solution")), format_speedup(timing.speedup)] if timing else ["—", "—"]
    return row


def _note(evaluation: Evaluation, kept: frozenset[str]) -> Text:
    expected = evaluation.solution.expected_verdict
    timing = evaluation.timing
    notes: list[str] = [timing.speed] if timing else []
    if timing and timing.metric != "gpu_cold":
        notes.append(timing.metric)
    if expected is not Verdict.PASSED:
        notes.append("as expected" if evaluation.verdict is expected else f"expected {expected.value}")
    if timing and timing.noise:
        notes.append("noisy")
    if evaluation.fragile:
        notes.append("fragile")
    if evaluation.id in kept:
        notes.append("kept")
    return Text(", ".join(notes), style="dim")


def _title(evaluations: Sequence[Evaluation], metric: Metric | None) -> Text:
    """What it was and where; and what the times, those of this metric, are compared with."""
    first = evaluations[0]
    environment = first.environment
    where = environment.gpu or "simulator"
    head = Text.assemble((first.problem.name, "bold"), f" on {where}, torch {environment.torch}")
    timings = [e.timing for e in evaluations if e.timing and e.timing.metric == metric]
    if timings:
        baseline = timings[0].baselines[0]
        times = sorted(timing.time_ns(baseline) for timing in timings if baseline in timing.baselines)
        span = " to ".join(dict.fromkeys((format_ms(times[0]), format_ms(times[-1]))))
        head.append(f"\n{baseline}: {span} ms; speed-up is {baseline} over solution", style="dim")
    if metric == "end_to_end":
        head.append("\nall measured end to end, since the reference waits for the device itself", style="yellow")
    return head


def _other_baselines(ranked: Sequence[Ranked]) -> Table | None:
    """How each solution does against every baseline; None where there is just one."""
    timed = [(one.evaluation.solution.name, one.evaluation.timing) for one in ranked if one.evaluation.timing]
    names = list(dict.fromkeys(baseline for _, timing in timed for baseline in timing.baselines))
    if len(names) < 2:
        return None
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("solution", overflow="fold", min_width=_NAME_WIDTH)
    for baseline in names:
        table.add_column(_SHORT[baseline], justify="right", no_wrap=True)
    for name, timing in timed:
        table.add_row(Text(harmless(name)), *(_over(timing, baseline) for baseline in names))
    return table


def _over(timing: Timing, baseline: Baseline) -> str:
    interval = timing.speedup_over(baseline) if baseline in timing.baselines else None
    return f"{interval.estimate:.3f}×" if interval else "—"


def _failures(evaluations: Sequence[Evaluation], verbose: bool) -> list[RenderableType]:
    """A line for each failure, or all about it."""
    failed = [evaluation for evaluation in evaluations if evaluation.failure]
    if verbose:
        return [part for evaluation in failed for part in (failure_text(evaluation, True), Text(""))]
    parts: list[RenderableType] = [_brief(evaluation) for evaluation in failed[:_MOST_FAILURES]]
    if len(failed) > _MOST_FAILURES:
        parts.append(Text(f"… and {len(failed) - _MOST_FAILURES} more", style="dim"))
    if failed:
        parts.append(Text("--verbose tells more; 'harness show ID' shows one evaluation whole\n", style="dim"))
    return parts


def _brief(evaluation: Evaluation) -> Text:
    assert evaluation.failure is not None
    name = f"{evaluation.problem.name}/{evaluation.solution.name}"
    reason = harmless(evaluation.failure.reason).replace("\n", " ")
    checks = seen_by(evaluation.failure)
    by = f" ({checks})" if checks else ""
    line = Text.assemble((harmless(name), "bold"), " ", verdict_text(evaluation.verdict), f"{by}: {reason}")
    line.truncate(160, overflow="ellipsis")
    return line


def _mean(summary: Summary, baselines: str) -> str:
    if summary.mean_speedup is None and summary.left_out:
        return "no speed-ups: nothing was measured as gpu_cold"
    if summary.mean_speedup is None:
        return "no speed-ups: nothing that passed was timed"
    mean: Interval = summary.mean_speedup
    over = f"{_several(summary.timed, 'speed-up')} ({baselines} over solution), of {summary.evaluated} evaluated"
    return f"geometric mean: {format_speedup(mean)}\n  over {over}"


def _headline(evaluations: Sequence[Evaluation]) -> str:
    return " or ".join(dict.fromkeys(e.timing.baselines[0] for e in evaluations if e.timing)) or "eager"


def _curve(points: Sequence[FastP]) -> Table:
    table = Table.grid(padding=(0, 1))
    for _ in range(len(points) + 1):
        table.add_column(justify="right", no_wrap=True)
    table.add_row("p", *(f"{point.p:g}" for point in points), style="bold")
    table.add_row("share", *(f"{100 * point.share:.0f} %" for point in points))
    table.add_row("count", *(str(point.faster) for point in points))
    return table


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
