"""What `harness run` answers: the solutions of one problem, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.model.evaluation import Evaluation
from harness.reports.baselines import baselines_blocks
from harness.reports.blocks import Block, Column, Line, Report, Section, Span, Table, Words, number
from harness.reports.evaluation import build_blocks, failure_blocks, judgement, simulated_words
from harness.reports.numbers import (
    format_error,
    format_ms,
    format_own_share,
    format_share,
    format_speedup,
    light_note,
)

OWN = "own"
"""The column's head: the share of the device's time in the solution's own kernels."""
LIGHT = "SOL"
"""The column's head: the share of the speed of light, as kernel engineers and their profilers abbreviate it."""


def run_report(evaluations: Sequence[Evaluation], verbose: bool) -> Report:
    """The whole answer of a run."""
    return Report(list(_blocks(evaluations, verbose)))


def shares(evaluations: Sequence[Evaluation]) -> tuple[list[Column], list[list[str]], list[Line]]:
    """Columns for what is known of light and own kernels, with a row of cells for each, and the columns' note."""
    note = light_note([(one.solution.name, one.share_of_light, one.light_source) for one in evaluations])
    has_own = any(one.own_share is not None for one in evaluations)
    columns = [number(head) for head, is_known in ((LIGHT, note), (OWN, has_own)) if is_known]
    cells = [
        [*([format_share(one.share_of_light)] if note else []), *([format_own_share(one.own_share)] if has_own else [])]
        for one in evaluations
    ]
    return columns, cells, [Line(note, "faint")] if note else []


def failure_section(evaluation: Evaluation, verbose: bool) -> Iterator[Section]:
    """None for what didn't fail."""
    if failure := evaluation.failure:
        seed = f", seed {evaluation.seed}" if failure.seed is not None else ""
        place = f" (case {failure.case}{seed})" if failure.case else ""
        title = [Span(evaluation.solution.name, "strong"), Span(": "), *judgement(evaluation), Span(place)]
        yield Section(title, list(failure_blocks(evaluation, failure, verbose)))


def caveats(evaluations: Iterable[Evaluation]) -> Iterator[Line]:
    """'tiled: noisy: …; 2 more in 'harness show'', and why an interval is wider than was asked for."""
    for evaluation in evaluations:
        noises = evaluation.timing.noises if evaluation.timing else ()
        if noises:
            more = f"; {len(noises) - 1} more in 'harness show'" if len(noises) > 1 else ""
            yield Line(f"{evaluation.solution.name}: noisy: {noises[0]}{more}", "unsure")
        if missed := evaluation.missed_precision:
            yield Line(f"{evaluation.solution.name}: {missed}", "faint")


def resources(evaluations: Iterable[Evaluation]) -> Iterator[Section]:
    """What the compiler said of each kernel, and where its whole output lies."""
    for evaluation in evaluations:
        if evaluation.builds:
            title = f"{evaluation.solution.name}: built in {evaluation.stages_s.get('build', 0):.1f} s"
            blocks = [
                b for build in evaluation.builds for b in (*build_blocks(build), Line(f"log: {build.log}", "faint"))
            ]
            yield Section(title, blocks)


def compiled_words(evaluations: Sequence[Evaluation]) -> str:
    """'nvcc 13.0.88 compiles for sm_90: plain, shared_tile'; '' where it was asked of nothing simulated."""
    named: dict[str, list[str]] = {}
    for evaluation in evaluations:
        checks = [build.nvcc for build in evaluation.builds]
        if checks and all(check is not None and check.outcome == "accepted" for check in checks):
            versions = dict.fromkeys(check.nvcc for check in checks if check)
            architectures = dict.fromkeys(name for check in checks if check for name in check.architectures)
            words = f"nvcc {', '.join(versions)} compiles for {', '.join(architectures)}"
            named.setdefault(words, []).append(evaluation.solution.name)
    return _by_words(named)


def _blocks(evaluations: Sequence[Evaluation], verbose: bool) -> Iterator[Block]:
    first, ordered = evaluations[0], sorted(evaluations, key=_fastest_first)
    yield heading(first)
    yield Line(_held_to(first), "faint")
    yield from _results(ordered)
    yield from baselines_blocks(evaluations)
    if first.environment.backend == "sim":
        yield Line(simulated_words(first), "unsure")
        if compiled := compiled_words(evaluations):
            yield Line(compiled)
    for evaluation in evaluations:
        yield from failure_section(evaluation, verbose)
    if speeds := _speeds(ordered):
        yield Line(speeds)
    yield from caveats(evaluations)
    if verbose:
        yield from resources(evaluations)
    for remark in dict.fromkeys(remark for evaluation in evaluations for remark in evaluation.remarks):
        yield Line(f"remark: {remark}", "faint")


def heading(evaluation: Evaluation) -> Line:
    environment = evaluation.environment
    where = environment.gpu or "simulator"
    return Line((Span(evaluation.problem.name, "strong"), f" on {where}, torch {environment.torch}"))


def _results(evaluations: Sequence[Evaluation]) -> Iterator[Block]:
    """A row per solution."""
    first = evaluations[0]
    columns = [Column("solution", is_name=True), Column("verdict"), number("err/tol")]
    has_times = any(one.environment.backend == "cuda" for one in evaluations)
    if has_times:
        asked = next(
            (one.config.timing.baselines[0] for one in evaluations if one.timing), first.config.timing.baselines[0]
        )
        columns += [number(f"{asked} ms"), number("ms"), number("speed-up [95 %]")]
    further, cells, note = shares(evaluations)
    rows: list[list[Words]] = []
    for evaluation, more in zip(evaluations, cells, strict=True):
        times = ["—", "—", "—"] if has_times else []
        if has_times and (timing := evaluation.timing):
            ns = (timing.time_ns(timing.baselines[0]), timing.time_ns("solution"))
            times = [*map(format_ms, ns), format_speedup(timing.speedup)]
        name, error = evaluation.solution.name, format_error(evaluation.checks)
        rows.append([name, judgement(evaluation), error, *times, *more])
    yield Table([*columns, *further], rows)
    yield from note


def _speeds(evaluations: Sequence[Evaluation]) -> str:
    """'faster than eager: tiled, plain; inconclusive: other'."""
    named: dict[str, list[str]] = {}
    for evaluation in evaluations:
        if timing := evaluation.timing:
            than = {"faster": " than ", "slower": " than ", "same": " as "}.get(timing.speed)
            words = timing.speed + (f"{than}{timing.baselines[0]}" if than else "")
            named.setdefault(words, []).append(evaluation.solution.name)
    return _by_words(named)


def _by_words(named: dict[str, list[str]]) -> str:
    return "; ".join(f"{words}: {', '.join(names)}" for words, names in named.items())


def _held_to(evaluation: Evaluation) -> str:
    """The tolerance in words; where the reference runs in tf32 this says that tf32's error is accepted."""
    precision = evaluation.problem.precision
    plain = [check for check in evaluation.checks if check.variant is None]  # a variant's follows the outputs' size
    tolerances = {output.tolerance for check in plain for output in check.outputs}
    if len(tolerances) != 1:
        return f"outputs held to {precision}"
    (tolerance,) = tolerances
    if tolerance.is_exact:
        return f"outputs held to {precision}: equal to the oracle's"
    return f"outputs held to {precision}: |got − want| ≤ {tolerance}"


def _fastest_first(evaluation: Evaluation) -> tuple[bool, float, str]:
    time = evaluation.timing.time_ns("solution") if evaluation.timing else float("inf")
    return (not evaluation.verdict.passed, time, evaluation.solution.name)
