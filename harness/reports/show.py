"""One evaluation, whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.records.build import ExtensionBuild
from harness.records.check import Check
from harness.records.entry import config_hash
from harness.records.environment import Environment
from harness.records.evaluation import Evaluation, Work
from harness.records.evidence import Evidence
from harness.records.roofline import share_of_baseline
from harness.records.timing import Timing
from harness.records.trace import Trace
from harness.reports.baselines import compiled_lines, noisy_lines, over_fastest
from harness.reports.console import failure_text, nvcc_words, simulated_text, verdict_text
from harness.reports.evidence import kernel_rows, numbers_of, trace_words
from harness.reports.leaderboard.reproduce import repetition
from harness.reports.numbers import (
    derived_words,
    format_error,
    format_flags,
    format_share,
    format_speedup,
    scopes_and_variants,
    variants_of,
)
from harness.reports.roofline import light_words, work_words
from harness.reports.timing_table import timing_report
from harness.reports.untrusted import harmless, one_line

_COMMAND_WIDTH = 74
_MOST_KERNELS = 12


def show_report(evaluation: Evaluation, all_cases: Sequence[str]) -> RenderableType:
    """`all_cases` are the problem's, where they are known; they shorten the command that repeats the evaluation."""
    return Group(*_sections(evaluation, all_cases))


def source_text(evaluation: Evaluation) -> str:
    """The files that were judged, each under its name; control characters taken out."""
    files = evaluation.solution.files
    if not files:
        return "this record keeps no sources: it was made with --no-source, or by harness 0.1\n"
    return "\n".join(f"# ==== {name}\n{text.rstrip()}\n" for name, text in _harmless_files(files))


def log_text(evaluation: Evaluation) -> str:
    """What the compilers said of each extension."""
    if not evaluation.builds:
        return "nothing was built\n"
    return "\n".join(f"# ==== {harmless(build.name)}\n{_output(build)}\n" for build in evaluation.builds)


def _harmless_files(files: dict[str, str]) -> Iterator[tuple[str, str]]:
    return ((harmless(name), harmless(text)) for name, text in files.items())


def _output(build: ExtensionBuild) -> str:
    own = harmless(build.output).rstrip() or f"the record keeps no output; the whole log was at {harmless(build.log)}"
    if build.nvcc is None:
        return own
    said = harmless(build.nvcc.output).rstrip() or "(nothing)"
    return f"{own}\n# ---- {harmless(build.name)}, by nvcc {harmless(build.nvcc.nvcc)}\n{said}"


def _sections(evaluation: Evaluation, all_cases: Sequence[str]) -> Iterator[RenderableType]:
    yield from _heading(evaluation)
    if evaluation.failure:
        yield from _section("failure", failure_text(evaluation, verbose=True))
        if evaluation.failure.evidence:
            yield from _section("evidence", *(_evidence(one) for one in evaluation.failure.evidence))
    if evaluation.timing:
        yield from _section(f"timing, case {harmless(evaluation.timing.case)}", *_timing(evaluation, evaluation.timing))
    elif evaluation.environment.backend == "sim":
        yield from _section("timing", Text(simulated_text(evaluation)))
    if evaluation.work:
        yield from _section("speed of light", *_light(evaluation, evaluation.work))
    if evaluation.checks:
        oracles = ", ".join(dict.fromkeys(check.oracle for check in evaluation.checks))
        held = [Text(derived_words(one), style="dim") for one in evaluation.tolerances]
        yield from _section(f"checks against the {oracles} oracle", _checks(evaluation.checks), *held)
    if evaluation.fragile:
        yield from _section("fragile: wrong far from the drawn scale", _checks(evaluation.fragile))
    if evaluation.trace:
        yield from _section("kernels that ran", *_trace(evaluation.trace))
    if evaluation.builds:
        yield from _section("builds", *(_build(build) for build in evaluation.builds))
    yield from _section("environment", _environment(evaluation.environment))
    if evaluation.protections:
        yield from _section("protections", Text(one_line(", ".join(evaluation.protections))))
    if evaluation.remarks:
        yield from _section("remarks", *(Text(harmless(remark)) for remark in evaluation.remarks))
    yield from _section("repeat it", *_repeat(evaluation, all_cases))


def _section(title: str, *content: RenderableType) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style="bold")
    for one in content:
        yield Padding(one, (0, 0, 0, 2))


def _heading(evaluation: Evaluation) -> Iterator[RenderableType]:
    solution = evaluation.solution
    names = f"{harmless(evaluation.problem.name)} / {harmless(solution.name)}"
    yield Text.assemble((names, "bold"), "  ", verdict_text(evaluation.verdict, is_fragile=bool(evaluation.fragile)))
    if solution.expected_verdict is not evaluation.verdict:
        yield Text(f"expected was {solution.expected_verdict.value}")
    stages = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in evaluation.stages_s.items())
    yield Text(harmless(f"{evaluation.id}, run {evaluation.run}"), style="dim")
    when = evaluation.started_at[:19].replace("T", " ")
    yield Text(f"{when} UTC, {evaluation.duration_s:.1f} s" + (f": {stages}" if stages else ""), style="dim")
    author = harmless(solution.author or "unknown")
    precision = harmless(solution.precision or f"not declared (the problem: {evaluation.problem.precision})")
    yield Text(f"author {author}, precision {precision}", style="dim")


def _timing(evaluation: Evaluation, timing: Timing) -> Iterator[RenderableType]:
    """All arms, and what is to be known of the baselines: which of several is the fastest, and what compiling took."""
    yield timing_report(timing)
    if evaluation.missed_precision:
        yield Text(evaluation.missed_precision, style="dim")
    if row := over_fastest(evaluation):
        yield Text(f"over the fastest baseline, {row.baseline}: {format_speedup(row.speedup)}")
        if row.ties:
            yield Text(f"not told apart from it: {', '.join(row.ties)}", style="dim")
    for line in noisy_lines([evaluation]):
        yield Text(line, style="yellow")
    for line in compiled_lines([evaluation]):
        yield Text(line, style="dim")


def _light(evaluation: Evaluation, work: Work) -> Iterator[RenderableType]:
    """What a call can't do without, how long the device takes for it at best, and how near each arm comes."""
    yield Text(f"a call has {work_words(work)}")
    light, timing = evaluation.speed_of_light, evaluation.timing
    if light is None:
        yield Text("no ceilings of the device are in this record", style="dim")
        return
    yield Text(f"at the device's ceilings that takes {one_line(light_words(light))}")
    if timing:
        reached = [f"{name} {format_share(*share_of_baseline(evaluation, name))}" for name in timing.baselines]
        own = format_share(evaluation.share_of_light, evaluation.light_source)
        yield Text(f"reached: {', '.join(reached)}, solution {own}")


def _checks(checks: Sequence[Check]) -> RenderableType:
    """A row per case."""
    table = _table("case", "calls", "scope", "compared", "wrong", "err/tol")
    for case in dict.fromkeys(check.case for check in checks):
        mine = tuple(check for check in checks if check.case == case)
        outputs = [output for check in mine for output in check.outputs]
        table.add_row(
            harmless(case),
            str(len(mine)),
            scopes_and_variants(mine),
            f"{sum(output.compared for output in outputs):.3g}",
            str(sum(output.mismatches for output in outputs)),
            format_error(mine),
        )
    variants = variants_of(checks)
    return Group(table, Text(variants, style="dim")) if variants else table


def _evidence(evidence: Evidence) -> RenderableType:
    """The check, what it saw, and each number."""
    observed = Text.assemble((evidence.check, "bold"), f": {one_line(evidence.observed)}")
    numbers = Table.grid(padding=(0, 2))
    for name, value in numbers_of(evidence):
        numbers.add_row(Text(name, style="dim"), Text(value))
    more = Text(f"'harness explain {evidence.check}' tells how it is seen", style="dim")
    return Group(observed, Padding(numbers, (0, 0, 0, 2)), more)


def _trace(trace: Trace) -> Iterator[RenderableType]:
    yield Text(trace_words(trace))
    rows = kernel_rows(trace.kernels)
    table = _table("kernel", "origin", "launches", "ms", "share")
    for row in rows[:_MOST_KERNELS]:
        table.add_row(*(Text(cell) for cell in row))
    yield table
    if len(rows) > _MOST_KERNELS:
        yield Text(f"… and {len(rows) - _MOST_KERNELS} more; --json has all", style="dim")


def _build(build: ExtensionBuild) -> RenderableType:
    how = "found built" if build.was_cached else f"built in {build.seconds:.1f} s"
    lines: list[RenderableType] = [Text(f"{harmless(build.name)}: {how}")]
    if build.nvcc:
        lines.append(Text(harmless(nvcc_words(build.nvcc))))
    if build.kernels:
        table = _table("kernel", "arch", "registers", "shared B", "spilled B", "stack B", "constant B")
        for kernel in build.kernels:
            name = kernel.kernel.partition("(")[0].removeprefix("void ")
            spilled, stack = kernel.spill_store_bytes, kernel.stack_bytes
            facts = (kernel.registers, kernel.shared_bytes, spilled, stack, kernel.constant_bytes)
            table.add_row(harmless(name), kernel.architecture, *("—" if fact is None else str(fact) for fact in facts))
        lines.append(table)
    return Group(*lines)


def _environment(environment: Environment) -> RenderableType:
    memory = f", {environment.gpu_memory_bytes / 1e9:.0f} GB" if environment.gpu_memory_bytes else ""
    which = f", {environment.gpu_uuid}" if environment.gpu_uuid else ""
    facts = {
        "GPU": f"{environment.gpu}{memory}, driver {environment.driver}{which}"
        if environment.gpu
        else "none: simulator",
        "torch": f"{environment.torch}, CUDA {environment.torch_cuda or '—'}, cuDNN {environment.cudnn or '—'}",
        "compilers": f"nvcc {environment.nvcc or '—'}, {environment.host_compiler or '—'}",
        "host": f"{environment.cpu}, {environment.cpu_count} cores, {environment.os}, Python {environment.python}",
        "harness": f"{environment.harness}, commit {environment.commit or 'unknown'}",
        "flags": format_flags(environment.flags) or "—",
        "fingerprint": environment.fingerprint,
    }
    table = Table.grid(padding=(0, 2))
    for name, fact in facts.items():
        table.add_row(Text(name, style="dim"), Text(harmless(fact)))
    return table


def _repeat(evaluation: Evaluation, all_cases: Sequence[str]) -> Iterator[RenderableType]:
    again = repetition(evaluation, all_cases)
    yield Text(" \\\n  ".join(_broken_before_options(harmless(again.command))))
    if again.config:
        yield Text(f"with {again.config_file} (config {config_hash(evaluation.config)}):", style="dim")
        yield Padding(Text(harmless(again.config)), (0, 0, 0, 2))
    if commit := evaluation.environment.commit:
        yield Text(f"at commit {commit}", style="dim")


def _broken_before_options(command: str) -> list[str]:
    """Lines of a command that a shell takes when it is pasted."""
    lines = [""]
    for piece in re.split(r" (?=--)", command):
        if lines[-1] and len(lines[-1]) + len(piece) >= _COMMAND_WIDTH:
            lines.append(piece)
        else:
            lines[-1] = f"{lines[-1]} {piece}".lstrip()
    return lines


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for number, column in enumerate(columns):
        is_text = number == 0 or column in ("scope", "arch", "origin")
        table.add_column(column, justify="left" if is_text else "right", overflow="fold")
    return table
