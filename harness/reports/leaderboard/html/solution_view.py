"""What the page says of one solution: its evaluation in rows and texts, all of them harmless."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from markupsafe import Markup

from harness.records.environment import Environment
from harness.records.evaluation import Evaluation, Failure
from harness.records.fastest import fastest_baseline
from harness.records.statistics import Interval
from harness.reports.baselines import compiled_facts, mark_of
from harness.reports.evidence import kernel_rows, numbers_of, seen_by, trace_words
from harness.reports.leaderboard.board import Standing
from harness.reports.leaderboard.html.arm_view import ArmView, arm_views
from harness.reports.leaderboard.html.case_view import CaseView, case_views, errors_by_case
from harness.reports.leaderboard.html.highlight import coloured
from harness.reports.leaderboard.html.speed_view import speed_rows
from harness.reports.leaderboard.precision import title_of
from harness.reports.leaderboard.reproduce import repetition
from harness.reports.leaderboard.words import source_note
from harness.reports.numbers import (
    format_error,
    format_flags,
    format_ms,
    format_own_share,
    format_share,
    format_speedup,
    variants_of,
)
from harness.reports.roofline import light_words, work_words
from harness.reports.untrusted import harmless, one_line, shortened

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SourceView:
    name: str
    text: Markup
    lines: int


@dataclass(frozen=True)
class SolutionView:
    """A solution's part of the page, and its cells in the tables."""

    anchor: str
    problem: str
    name: str
    author: str
    verdict: str
    kind: str
    """ranked, passed, failed or unjudged: decides the colour and the filter."""
    precision: str
    rank: int | None
    reason: str
    note: str | None
    speedup: Interval | None
    estimate: str
    bounds: str
    solution_ns: float | None
    baseline_ns: float | None
    time: str
    baseline_time: str
    share: float | None
    """Of the speed of light."""
    light: str
    own_share: float | None
    own: str
    error: str
    worst: str
    """The error for sorting, in JavaScript's notation; '' where nothing was compared."""
    short: str
    """What a small cell says of a solution without a rank."""
    tint: str
    """The class of its cell: how far from 1× it is."""
    date: str
    explanation: str
    failure: Pairs
    details: str
    facts: Pairs
    remarks: tuple[str, ...]
    baselines: Pairs
    speed: Pairs
    kernels: tuple[tuple[str, ...], ...]
    trace: str
    """Which kernels ran, in a sentence; '' where no turn was traced."""
    traced: tuple[tuple[str, ...], ...]
    cases: tuple[CaseView, ...]
    variants: str | None
    arms: tuple[ArmView, ...]
    sources: tuple[SourceView, ...]
    logs: tuple[tuple[str, str], ...]
    environment: Pairs
    command: str
    config_file: str
    config: str | None
    errors_by_case: dict[str, tuple[str, bool]]
    """Of each case the error as a multiple of the tolerance, and whether it passed."""


def solution_view(standing: Standing, evaluation: Evaluation, anchor: str, all_cases: Collection[str]) -> SolutionView:
    """`all_cases`: those of the problem's version that the board shows."""
    entry, failure = standing.entry, evaluation.failure
    shown = standing.speedup if standing.is_comparable else None
    estimate, _, bounds = format_speedup(shown).partition(" ")
    repeat = repetition(evaluation, all_cases)
    return SolutionView(
        anchor=anchor,
        problem=one_line(entry.problem),
        name=one_line(entry.solution),
        author=one_line(entry.author or ""),
        verdict=entry.verdict.value,
        kind=_kind(standing),
        precision=title_of(standing.precision_class),
        rank=standing.rank,
        reason=one_line(standing.why_unranked or ""),
        note=source_note(standing),
        speedup=shown,
        estimate=estimate,
        bounds=bounds,
        solution_ns=entry.solution_ns if shown else None,
        baseline_ns=entry.baseline_ns if shown else None,
        time=format_ms(entry.solution_ns) if shown and entry.solution_ns else "—",
        baseline_time=format_ms(entry.baseline_ns) if shown and entry.baseline_ns else "—",
        share=entry.share_of_light if shown else None,
        light=format_share(entry.share_of_light if shown else None, entry.light_source),
        own_share=entry.own_share,
        own=format_own_share(entry.own_share),
        error=format_error(evaluation.checks),
        worst=_sortable(evaluation.worst),
        short="simulated" if entry.backend == "sim" and entry.verdict.passed else entry.verdict.value,
        tint=_tint(standing),
        date=entry.started_at[:10],
        explanation=shortened(evaluation.solution.explanation, 8_000).strip(),
        failure=_failure(failure) if failure else (),
        details=shortened(failure.details or "") if failure else "",
        facts=_facts(standing, evaluation),
        remarks=tuple(one_line(remark) for remark in evaluation.remarks),
        baselines=_baselines(evaluation),
        speed=speed_rows(evaluation),
        kernels=_kernels(evaluation),
        trace=trace_words(evaluation.trace) if evaluation.trace else "",
        traced=tuple(kernel_rows(evaluation.trace.kernels)) if evaluation.trace else (),
        cases=tuple(case_views(evaluation.checks)),
        variants=variants_of(evaluation.checks),
        arms=arm_views(evaluation.timing),
        sources=tuple(_source(name, text) for name, text in sorted(evaluation.solution.files.items())),
        logs=tuple((one_line(b.name), shortened(b.output)) for b in evaluation.builds if b.output.strip()),
        environment=environment_rows(evaluation.environment),
        command=one_line(repeat.command),
        config_file=repeat.config_file,
        config=repeat.config,
        errors_by_case=errors_by_case(evaluation),
    )


def environment_rows(environment: Environment) -> Pairs:
    """Every fact of the machine, in words; what the machine couldn't say is left out."""
    memory = environment.gpu_memory_bytes
    return _pairs(
        ("fingerprint", environment.fingerprint),
        ("backend", environment.backend),
        ("GPU", environment.gpu),
        ("UUID of the GPU", environment.gpu_uuid),
        ("GPU memory", f"{memory / 2**30:.1f} GiB" if memory else None),
        ("compute capability", environment.compute_capability),
        ("driver", environment.driver),
        ("torch", environment.torch),
        ("CUDA of torch", environment.torch_cuda),
        ("cuDNN", environment.cudnn),
        ("nvcc", environment.nvcc),
        ("host compiler", environment.host_compiler),
        ("Python", environment.python),
        ("system", environment.os),
        ("CPU", f"{environment.cpu}, {environment.cpu_count} cores"),
        ("torch's switches", format_flags(environment.flags)),
        ("harness", environment.harness),
        ("commit", environment.commit),
    )


def _pairs(*pairs: tuple[str, str | None]) -> Pairs:
    return tuple((name, one_line(value)) for name, value in pairs if value)


def _kind(standing: Standing) -> str:
    if standing.rank is not None:
        return "ranked"
    verdict = standing.entry.verdict
    return "passed" if verdict.passed else "failed" if verdict.blames_solution else "unjudged"


def _tint(standing: Standing) -> str:
    speedup = standing.speedup
    if standing.rank is None or speedup is None:
        return _kind(standing)
    if speedup.low <= 1 <= speedup.high:
        return "level"
    size = max(speedup.estimate, 1 / speedup.estimate)
    return ("up" if speedup.estimate > 1 else "down") + ("2" if size >= 2 else "1")


def _sortable(worst: float | None) -> str:
    return "" if worst is None or math.isnan(worst) else "Infinity" if math.isinf(worst) else repr(worst)


def _facts(standing: Standing, evaluation: Evaluation) -> Pairs:
    weights = evaluation.weights.replace("_", " ") if evaluation.weights else None
    return _pairs(
        ("author", evaluation.solution.author),
        ("computes in", evaluation.solution.precision or f"{evaluation.problem.precision} (the problem's)"),
        ("work", work_words(evaluation.work) if evaluation.work else None),
        ("speed of light", light_words(evaluation.speed_of_light) if evaluation.speed_of_light else None),
        ("expected verdict", evaluation.solution.expected_verdict.value),
        ("evaluated", f"{evaluation.started_at[:16].replace('T', ' ')} UTC, in {evaluation.duration_s:.0f} s"),
        ("evaluations like it", str(standing.evaluations)),
        ("evaluation", evaluation.id),
        ("run", evaluation.run),
        ("sources", f"sha256 {evaluation.solution.sha256[:16]}…"),
        ("problem", f"sha256 {evaluation.problem.sha256[:16]}…"),
        ("weights from", weights),
        ("protections", ", ".join(evaluation.protections)),
    )


def _failure(failure: Failure) -> Pairs:
    """What happened, which checks saw it, with their numbers, and what to do."""
    numbers = [f"{name} {value}" for one in failure.evidence for name, value in numbers_of(one)]
    return _pairs(
        ("what happened", failure.reason),
        ("seen by", seen_by(failure)),
        ("numbers", ", ".join(numbers)),
        ("next", failure.next_step),
    )


def _baselines(evaluation: Evaluation) -> Pairs:
    timing = evaluation.timing
    fastest = fastest_baseline(timing) if timing else None
    compiled = tuple((f"compiling {name}", facts) for name, facts in compiled_facts([evaluation]))
    if timing is None or fastest is None:
        return compiled
    marks = {"*": ", the fastest", "=": ", perhaps as fast", "": ""}
    over = tuple(
        (
            name + marks[mark_of(name, fastest)],
            f"{format_speedup(timing.speedup_over(name))}, {name} takes {format_ms(timing.time_ns(name))} ms",
        )
        for name in timing.baselines
    )
    return (*over, *compiled)


def _kernels(evaluation: Evaluation) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            one_line(k.kernel),
            one_line(k.architecture),
            "—" if k.registers is None else str(k.registers),
            f"{k.shared_bytes:,}",
            f"{k.spill_store_bytes:,} / {k.spill_load_bytes:,}",
            f"{k.stack_bytes:,}",
        )
        for build in evaluation.builds
        for k in build.kernels
    )


def _source(name: str, text: str) -> SourceView:
    plain = harmless(text)
    return SourceView(one_line(name), coloured(name, plain), plain.count("\n") + (not plain.endswith("\n")))
