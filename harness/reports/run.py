"""The answer of `harness run`: the solutions of one problem, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.reports.bare_files import by_its_files
from harness.reports.baselines import baselines_blocks
from harness.reports.blocks import Block, Column, ColumnOf, Line, Section, Span, number, table_of
from harness.reports.evaluation import build_blocks, failure_blocks, judgement, simulated_words
from harness.reports.numbers import (
    format_error,
    format_ms,
    format_own_share,
    format_share,
    format_speedup,
    light_note,
)
from harness.reports.terminal import reporting

OWN = "own"
"""The column's head: the share of the device's time in the solution's own kernels."""
LIGHT = "SOL"
"""The column's head: the share of the speed of light, as kernel engineers and their profilers abbreviate it."""


SOLUTION: ColumnOf[Evaluation] = (Column("solution", is_name=True), lambda one: one.solution.name)
TIMES: Sequence[ColumnOf[Evaluation]] = (
    (number("ms"), lambda one: format_ms(one.solution_ns)),
    (number("speed-up [95 %]"), lambda one: format_speedup(one.speedup)),
)


_MOST_NAMES = 3
"""The most solutions that a remark names."""
_OF_VALUES = (Verdict.PASSED, Verdict.WRONG_VALUES, Verdict.NONDETERMINISTIC, Verdict.NO_CUSTOM_KERNEL)
"""Verdicts beside which an error says anything: another fault may end cases that passed before."""


@reporting
def run_report(evaluations: Sequence[Evaluation], verbose: bool) -> Iterator[Block]:
    """The whole answer of a run."""
    first, ordered = evaluations[0], sorted(evaluations, key=_fastest_first)
    yield heading(first)
    yield Line(_held_to(next((one for one in evaluations if one.checks), first)), "faint")
    yield from _results(ordered)
    yield from baselines_blocks(evaluations)
    if first.environment.backend == "sim":
        yield Line(simulated_words(evaluations), "unsure")
        if compiled := compiled_words(evaluations):
            yield Line(compiled)
    for evaluation in evaluations:
        yield from failure_section(evaluation, verbose)
    yield from unexpected_lines(evaluations)
    if speeds := _speeds(ordered):
        yield Line(speeds)
    yield from caveats(evaluations)
    if verbose:
        yield from resources(evaluations)
    yield from remark_lines(evaluations)


def remark_lines(evaluations: Sequence[Evaluation]) -> Iterator[Line]:
    """Each remark once, with the solutions that it is on unless it is on all."""
    whose: dict[str, list[str]] = {}
    is_one_problem = len({one.problem.name for one in evaluations}) == 1
    for one in evaluations:
        name = one.solution.name if is_one_problem else f"{one.problem.name}/{one.solution.name}"
        for remark in dict.fromkeys(by_its_files(one, remark) for remark in one.remarks):
            whose.setdefault(remark, []).append(name)
    for remark, found in whose.items():
        names = sorted(found)
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        of = "" if len(names) == len(evaluations) else f"{', '.join(names[:_MOST_NAMES])}{more}: "
        yield Line(f"remark: {of}{remark}", "faint")


def unexpected_lines(evaluations: Iterable[Evaluation]) -> Iterator[Line]:
    """Say who ended otherwise than a solution.yaml expects that doesn't expect a pass."""
    for one in evaluations:
        expected, verdict = one.solution.expected_verdict, one.verdict
        if not expected.passed and verdict is not expected:
            ended = "passed" if verdict.passed else f"ended with {verdict.value}"
            name = f"{one.problem.name}/{one.solution.name}"
            yield Line(f"{name} {ended}, but its solution.yaml expects {expected.value}", "unsure")


def shares(evaluations: Sequence[Evaluation]) -> tuple[list[ColumnOf[Evaluation]], list[Line]]:
    """Columns for what is known of light and own kernels, and their note."""
    note = light_note([(one.solution.name, one.share_of_light, one.light_source) for one in evaluations])
    columns: list[ColumnOf[Evaluation]] = []
    if note:
        columns.append((number(LIGHT, is_extra=True), lambda one: format_share(one.share_of_light)))
    if any(one.own_share is not None for one in evaluations):
        columns.append((number(OWN, is_extra=True), lambda one: format_own_share(one.own_share)))
    return columns, [Line(note, "faint")] if note else []


def failure_section(evaluation: Evaluation, verbose: bool, with_problem: bool = False) -> Iterator[Section]:
    """The failure's section, perhaps `with_problem`'s name; nothing for what didn't fail."""
    if failure := evaluation.failure:
        seed = f", seed {evaluation.seed}" if failure.seed is not None else ""
        place = f" (case {failure.case}{seed})" if failure.case else ""
        name = f"{evaluation.problem.name}/{evaluation.solution.name}" if with_problem else evaluation.solution.name
        title = [Span(name, "strong"), Span(": "), *judgement(evaluation), Span(place)]
        yield Section(title, list(failure_blocks(evaluation, failure, verbose)))


def caveats(evaluations: Iterable[Evaluation]) -> Iterator[Line]:
    """'tiled: noisy: …; 2 more in 'harness show'', or else why an interval is wider than was asked for."""
    for evaluation in evaluations:
        noises = evaluation.timing.noises if evaluation.timing else ()
        if noises:
            more = f"; {len(noises) - 1} more in 'harness show'" if len(noises) > 1 else ""
            yield Line(f"{evaluation.solution.name}: noisy: {noises[0]}{more}", "unsure")
        elif missed := evaluation.missed_precision:
            yield Line(f"{evaluation.solution.name}: {missed}", "faint")


def resources(evaluations: Iterable[Evaluation]) -> Iterator[Section]:
    """Show what the compiler said of each kernel, and where its whole output lies."""
    for evaluation in evaluations:
        if evaluation.builds:
            title = f"{evaluation.solution.name}: built in {evaluation.stages_s.get('build', 0):.1f} s"
            blocks = [
                b for build in evaluation.builds for b in (*build_blocks(build), Line(f"log: {build.log}", "faint"))
            ]
            yield Section(title, blocks)


def compiled_words(evaluations: Sequence[Evaluation]) -> str:
    """'nvcc 13.0.88 compiles for sm_90: plain, shared_tile'; how to get an nvcc where none is; '' where it accepted
    nothing."""
    if not any(build.nvcc for one in evaluations for build in one.builds) and evaluations[0].environment.nvcc is None:
        return (
            "no nvcc here: a GPU may refuse what was simulated; pip install 'kernel-harness[nvcc]' tells without a GPU"
        )
    named: dict[str, list[str]] = {}
    for evaluation in evaluations:
        checks = [build.nvcc for build in evaluation.builds]
        if checks and all(check is not None and check.outcome == "accepted" for check in checks):
            versions = dict.fromkeys(check.nvcc for check in checks if check)
            architectures = dict.fromkeys(name for check in checks if check for name in check.architectures)
            words = f"nvcc {', '.join(versions)} compiles for {', '.join(architectures)}"
            named.setdefault(words, []).append(evaluation.solution.name)
    return _by_words(named)


def heading(evaluation: Evaluation) -> Line:
    environment = evaluation.environment
    where = environment.gpu or "simulator"
    return Line((Span(evaluation.problem.name, "strong"), f" on {where}, torch {environment.torch}"))


def _results(evaluations: Sequence[Evaluation]) -> Iterator[Block]:
    """A row per solution."""
    columns = [
        SOLUTION,
        (Column("verdict"), judgement),
        (number("err/tol"), lambda one: format_error(one.checks) if one.verdict in _OF_VALUES else "—"),
    ]
    if any(one.environment.backend == "cuda" for one in evaluations):
        timed = (one.timing.baselines[0] for one in evaluations if one.timing)
        asked = next(timed, evaluations[0].config.timing.baselines[0])
        columns += [(number(f"{asked} ms", is_extra=True), lambda one: format_ms(one.baseline_ns)), *TIMES]
    further, note = shares(evaluations)
    yield table_of(evaluations, [*columns, *further])
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
    return "; ".join(f"{words}: {', '.join(sorted(names))}" for words, names in named.items())


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
    time = evaluation.solution_ns
    return (not evaluation.verdict.passed, float("inf") if time is None else time, evaluation.solution.name)
