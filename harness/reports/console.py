"""Tables for the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.records.build import KernelResources, NvccCheck
from harness.records.evaluation import Evaluation
from harness.records.verdict import Verdict
from harness.reports.baselines import baselines_parts
from harness.reports.evidence import seen_by
from harness.reports.numbers import format_error, format_ms, format_own_share, format_share, format_speedup, light_note
from harness.reports.untrusted import harmless

OWN = "own"
"""The column's head: the share of the device's time in the solution's own kernels."""
LIGHT = "SOL"
"""The column's head: the share of the speed of light, as kernel engineers and their profilers abbreviate it."""
_NAME_WIDTH = 8


def simulated_text(evaluation: Evaluation) -> str:
    """What a verdict of the simulator is worth."""
    how = "simulated with --sanitize" if evaluation.config.correctness.sanitize else "simulated"
    return f"{how}, not verified on a GPU; times are not measured"


def verdict_text(verdict: Verdict, is_fragile: bool = False) -> Text:
    style = "green" if verdict.passed else "red" if verdict.blames_solution else "yellow"
    text = Text(verdict.value, style=style)
    return text.append(", fragile", style="yellow") if is_fragile else text


def speeds_text(evaluations: Sequence[Evaluation]) -> Text | None:
    """'faster than eager: tiled, plain; inconclusive: other'; None where nothing was timed."""
    named: dict[str, list[str]] = {}
    for evaluation in sorted(evaluations, key=_rank):
        if timing := evaluation.timing:
            than = {"faster": " than ", "slower": " than ", "same": " as "}.get(timing.speed)
            words = timing.speed + (f"{than}{timing.baselines[0]}" if than else "")
            named.setdefault(words, []).append(evaluation.solution.name)
    text = "; ".join(f"{words}: {', '.join(names)}" for words, names in named.items())
    return Text(harmless(text)) if text else None


def noise_text(evaluation: Evaluation) -> Text | None:
    """'tiled: noisy: …; 2 more in 'harness show''; None for what isn't."""
    noises = evaluation.timing.noises if evaluation.timing else ()
    if not noises:
        return None
    more = f"; {len(noises) - 1} more in 'harness show'" if len(noises) > 1 else ""
    return Text(harmless(f"{evaluation.solution.name}: noisy: {noises[0]}{more}"), style="yellow")


def precision_text(evaluation: Evaluation) -> Text | None:
    """'tiled: the interval is ±0.49 %, ±0.25 % was asked for: …'; None where it is as narrow as that."""
    missed = evaluation.missed_precision
    return Text(harmless(f"{evaluation.solution.name}: {missed}"), style="dim") if missed else None


def results_table(evaluations: Sequence[Evaluation]) -> RenderableType:
    """One line per solution, fastest first; what failed comes last."""
    first = evaluations[0]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("solution", overflow="fold", min_width=_NAME_WIDTH)
    table.add_column("verdict", no_wrap=True)
    table.add_column("err/tol", justify="right", no_wrap=True)
    for column in (
        (f"{first.config.timing.baselines[0]} ms", "ms", "speed-up [95 %]")
        if first.environment.backend == "cuda"
        else ()
    ):
        table.add_column(column, justify="right", no_wrap=True)
    note = light_note([(one.solution.name, one.share_of_light, one.light_source) for one in evaluations])
    has_own = any(evaluation.own_share is not None for evaluation in evaluations)
    for column in (*((LIGHT,) if note else ()), *((OWN,) if has_own else ())):
        table.add_column(column, justify="right", no_wrap=True)
    for evaluation in sorted(evaluations, key=_rank):
        light = [format_share(evaluation.share_of_light)] if note else []
        own = [format_own_share(evaluation.own_share)] if has_own else []
        table.add_row(*_row(evaluation), *light, *own)
    below = [Text(note, style="dim")] if note else []
    return Group(Text.from_markup(_title(first)), Text(_held_to(first), style="dim"), table, *below)


def failure_text(evaluation: Evaluation, verbose: bool) -> RenderableType:
    """Why it failed, where, and what to do next; the details when asked for."""
    failure = evaluation.failure
    assert failure is not None
    place = f" (case {failure.case}" + (f", seed {evaluation.seed})" if failure.seed is not None else ")")
    lines: list[RenderableType] = [
        Text.assemble(
            (evaluation.solution.name, "bold"), ": ", verdict_text(evaluation.verdict), place if failure.case else ""
        ),
        Padding(Text(harmless(failure.reason)), (0, 0, 0, 2)),
    ]
    if checks := seen_by(failure):
        lines.append(
            Padding(Text(f"seen by: {checks} (see 'harness explain {failure.evidence[0].check}')"), (0, 0, 0, 2))
        )
    if details := _shown_details(evaluation, verbose):
        lines.append(Padding(Text(harmless(details), style="dim"), (0, 0, 0, 2)))
    lines.append(Padding(Text.assemble(("next: ", "bold"), failure.next_step), (0, 0, 0, 2)))
    return Group(*lines)


def resources_text(evaluation: Evaluation) -> RenderableType:
    """What the compiler said of each kernel, and where its whole output lies."""
    lines = [Text(f"{evaluation.solution.name}: built in {evaluation.stages_s.get('build', 0):.1f} s", style="bold")]
    for build in evaluation.builds:
        lines += [Text(harmless(f"  {nvcc_words(build.nvcc)}"))] if build.nvcc else []
        lines += [Text(f"  {_resources(kernel)}") for kernel in build.kernels]
        lines.append(Text(f"  log: {build.log}", style="dim"))
    return Group(*lines)


def nvcc_words(check: NvccCheck) -> str:
    """'nvcc 13.0.88 for sm_90: compiles, in 9.8 s'; of a refusal the first line, of what is unchecked the reason."""
    where = f"nvcc {check.nvcc} for {', '.join(check.architectures)}"
    if check.outcome == "accepted":
        return f"{where}: compiles" + (", as it did before" if check.was_cached else f", in {check.seconds:.1f} s")
    word = "refused" if check.outcome == "refused" else "not checked"
    return f"{where}: {word}: {check.words.splitlines()[0]}"


def compiled_text(evaluations: Sequence[Evaluation]) -> Text | None:
    """'nvcc 13.0.88 compiles for sm_90: plain, shared_tile'; None where it was asked of nothing simulated."""
    named: dict[str, list[str]] = {}
    for evaluation in evaluations:
        checks = [build.nvcc for build in evaluation.builds]
        if checks and all(check is not None and check.outcome == "accepted" for check in checks):
            versions = dict.fromkeys(check.nvcc for check in checks if check)
            architectures = dict.fromkeys(name for check in checks if check for name in check.architectures)
            words = f"nvcc {', '.join(versions)} compiles for {', '.join(architectures)}"
            named.setdefault(words, []).append(evaluation.solution.name)
    text = "; ".join(f"{words}: {', '.join(names)}" for words, names in named.items())
    return Text(harmless(text)) if text else None


def _resources(kernel: KernelResources) -> str:
    name = kernel.kernel.partition("(")[0].removeprefix("void ")
    spilled = f"{kernel.spill_store_bytes}/{kernel.spill_load_bytes} B spilled out/in"
    return f"{name} ({kernel.architecture}): {kernel.registers} registers, {kernel.shared_bytes} B shared, {spilled}"


def print_report(console: Console, evaluations: Sequence[Evaluation], verbose: bool) -> None:
    """The whole answer of a run."""
    console.print(results_table(evaluations))
    for part in baselines_parts(evaluations):
        console.print(part)
    if evaluations[0].environment.backend == "sim":
        console.print(Text(simulated_text(evaluations[0]), style="yellow"))
        if compiled := compiled_text(evaluations):
            console.print(compiled)
    for evaluation in evaluations:
        if evaluation.failure:
            console.print()
            console.print(failure_text(evaluation, verbose))
    for line in filter(
        None, (speeds_text(evaluations), *map(noise_text, evaluations), *map(precision_text, evaluations))
    ):
        console.print(line)
    for evaluation in evaluations if verbose else ():
        if evaluation.builds:
            console.print(resources_text(evaluation))
    for remark in dict.fromkeys(remark for evaluation in evaluations for remark in evaluation.remarks):
        console.print(Text(harmless(f"remark: {remark}"), style="dim"))


def _shown_details(evaluation: Evaluation, verbose: bool) -> str | None:
    """Where the simulator has seen a fault, its line and what else was seen, and no traceback unless asked for."""
    details = evaluation.failure.details if evaluation.failure else None
    if not details or verbose or evaluation.verdict in _DETAILS_AT_ONCE:
        return details
    return details.partition("\n\n")[0] if _QUOTED_LINE.match(details) else None


_QUOTED_LINE = re.compile(r" *\d+ \| ")
_DETAILS_AT_ONCE = {Verdict.COMPILE_ERROR, Verdict.WRONG_VALUES}


def _title(evaluation: Evaluation) -> str:
    environment = evaluation.environment
    where = environment.gpu or "simulator"
    return f"[bold]{escape(evaluation.problem.name)}[/bold] on {escape(where)}, torch {escape(environment.torch)}"


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


def _rank(evaluation: Evaluation) -> tuple[bool, float, str]:
    time = evaluation.timing.time_ns("solution") if evaluation.timing else float("inf")
    return (not evaluation.verdict.passed, time, evaluation.solution.name)


def _row(evaluation: Evaluation) -> list[str | Text]:
    row: list[str | Text] = [
        Text(evaluation.solution.name),
        verdict_text(evaluation.verdict, is_fragile=bool(evaluation.fragile)),
        format_error(evaluation.checks),
    ]
    if evaluation.environment.backend == "cuda":
        timing = evaluation.timing
        row += (
            [
                format_ms(timing.time_ns(timing.baselines[0])),
                format_ms(timing.time_ns("solution")),
                format_speedup(timing.speedup),
            ]
            if timing
            else ["—", "—", "—"]
        )
    return row
