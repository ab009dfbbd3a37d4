"""Evaluations in the formats of others: CSV, and the files that KernelBench's own scripts read."""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from harness.errors import UsageError
from harness.model.evaluation import Evaluation
from harness.model.kernelbench import (
    SIMULATOR,
    KernelBenchLevel,
    KernelBenchSample,
    KernelBenchScore,
    average_pass_at_k,
    counts,
    pass_at_k,
)
from harness.model.record import as_json
from harness.model.verdict import Verdict
from harness.reports.blocks import Column, Table, number
from harness.reports.terminal import Report
from harness.reports.timing import TIMING_CELLS, arm_numbers, timing_cells
from harness.reports.untrusted import harmless
from harness.store.entry import NAMES, Entry, columns_of


def to_csv(entries: Iterable[Entry]) -> str:
    """A row per evaluation, a column per name of NAMES, and the share of the speed of light; cases are separated by
    spaces, absent values are empty."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [*NAMES, "share_of_light"], lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        facts = {**as_json(columns_of(entry)), "cases": " ".join(entry.cases), "share_of_light": entry.share_of_light}
        writer.writerow({name: _no_formula(value) for name, value in facts.items()})
    return file.getvalue()


def timings_csv(evaluations: Iterable[Evaluation]) -> Iterator[str]:
    """A row per metric and arm of each that was timed, in pieces; the first is the head. Times in ns."""
    names = ("evaluation", "problem", "solution", "case", *(name for name in TIMING_CELLS))
    yield ",".join(names) + "\n"
    for evaluation in evaluations:
        timing = evaluation.timing
        file = io.StringIO()
        writer = csv.DictWriter(file, names, lineterminator="\n")
        for row in arm_numbers(timing) if timing else ():
            facts = (evaluation.id, evaluation.problem.name, evaluation.solution.name, timing.case if timing else None)
            cells = dict(zip(names, facts, strict=False)) | timing_cells(row)
            writer.writerow({name: _no_formula(value) for name, value in cells.items()})
        yield file.getvalue()


def _no_formula(value: Any) -> Any:
    """A name that a spreadsheet would compute gets a quote in front: names are a stranger's words."""
    if not isinstance(value, str):
        return value
    text = harmless(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


_BASELINE_FILES = {
    "eager": "baseline_time_torch",
    "compile": "baseline_time_torch_compile_inductor_default",
    "compile-max-autotune": "baseline_time_torch_compile_inductor_max-autotune",
}
"""KernelBench's names; other baselines are 'baseline_time_torch_<name>'."""


_NEVER_RAN = {Verdict.COMPILE_ERROR, Verdict.LOAD_ERROR}
"""The verdicts that KernelBench calls not compiled: it can't load the module."""


def kernelbench_files(fields: Sequence[KernelBenchLevel], ks: Sequence[int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each file's path and content: runs/<gpu>/level<L>/<run>/*.json and timing/<gpu>/*.json."""
    timings: dict[str, dict[str, Any]] = {}
    for field in fields:
        gpu = re.sub(r"[^A-Za-z0-9.-]+", "_", field.gpu)
        for run, samples in field.runs.items():
            folder = f"runs/{gpu}/level{field.level}/{run}"
            yield f"{folder}/eval_results.json", _eval_results(samples)
            yield f"{folder}/pass_at_k_results.json", _pass_at_k_results(samples, ks)
        for baseline in field.baselines() if field.gpu != SIMULATOR else ():
            name = _BASELINE_FILES.get(baseline, f"baseline_time_torch_{baseline}")
            times = {
                problem.file: call_statistics(field.baseline_ns(problem, baseline), field.gpu) or {"mean": None}
                for problem in field.problems
            }
            timings.setdefault(f"timing/{gpu}/{name}.json", {})[f"level{field.level}"] = times
    yield from timings.items()


def to_kernelbench(evaluations: Sequence[Evaluation]) -> dict[str, list[dict[str, Any]]]:
    """KernelBench's eval_results.json: by problem, a sample per solution in the order of names.

    The evaluations are one per solution. Those that blame nobody's solution and didn't pass are left out, as
    KernelBench leaves out what it couldn't evaluate. Raises: UsageError where two problems have the same number.
    """
    judged = [e for e in evaluations if e.verdict.passed or e.verdict.blames_solution]
    found: dict[str, list[dict[str, Any]]] = {}
    names: dict[str, str] = {}
    for evaluation in sorted(judged, key=lambda e: (e.problem.name, e.solution.name)):
        number = kernelbench_id(evaluation.problem.name)
        if names.setdefault(number, evaluation.problem.name) != evaluation.problem.name:
            raise UsageError(
                f"problems {names[number]} and {evaluation.problem.name} are both KernelBench's {number}: "
                "export one level at a time, with --problem"
            )
        samples = found.setdefault(number, [])
        samples.append(kernelbench_sample(len(samples), evaluation))
    return found


def kernelbench_id(problem: str) -> str:
    """The number in a name such as '42_Max_Pooling_2D' or 'level1_42_Max_Pooling_2D', else the name itself."""
    match = re.match(r"(?:level\d+_)?(\d+)(?:_|$)", problem)
    return match[1] if match else problem


def kernelbench_sample(number: int, evaluation: Evaluation) -> dict[str, Any]:
    """Times in milliseconds; -1 and {} are KernelBench's words for a time that wasn't taken."""
    timing = evaluation.timing
    stats = call_statistics(timing.calls_ns("solution"), evaluation.environment.gpu) if timing else {}
    return {
        "sample_id": number,
        "compiled": evaluation.verdict not in _NEVER_RAN,
        "correctness": evaluation.verdict.passed,
        "metadata": _metadata(evaluation),
        "runtime": stats.get("mean", -1.0),
        "runtime_stats": stats,
    }


def call_statistics(calls_ns: Sequence[int], gpu: str | None) -> dict[str, Any]:
    """KernelBench's words for the times of calls, in milliseconds; empty for no calls."""
    calls_ms = [ns / 1e6 for ns in calls_ns]
    if not calls_ms:
        return {}
    return {
        "mean": statistics.fmean(calls_ms),
        "std": statistics.stdev(calls_ms) if len(calls_ms) > 1 else 0.0,
        "min": min(calls_ms),
        "max": max(calls_ms),
        "num_trials": len(calls_ms),
        "hardware": gpu,
        "device": "cuda",
    }


def score_json(score: KernelBenchScore) -> dict[str, Any]:
    return {**asdict(score), "pass_at_k": {f"avg_pass@{k}": share for k, share in score.pass_at_k.items()}}


def scores_table(scores: Sequence[KernelBenchScore]) -> Report:
    """A row per GPU, level and run."""
    shown = (0.0, 1.0, 2.0)
    ks = list(scores[0].pass_at_k) if scores else []
    heads = ["problems", "samples", "correct", *(f"fast_{p:g}" for p in shown), "geomean", *(f"pass@{n}" for n in ks)]
    rows = []
    for score in scores:
        speeds = [score.fast_p[p] for p in shown] if score.fast_p else [None] * len(shown)
        shares = (*speeds, score.geometric_mean, *score.pass_at_k.values())
        rows.append(
            (
                *(score.gpu, str(score.level), score.run),
                *map(str, (score.problems, score.samples, score.correct)),
                *("—" if one is None else f"{one:.4f}" for one in shares),
                *map(str, (score.invalid_problems, score.not_judged, score.not_timed)),
            )
        )
    columns = [Column("GPU"), Column("level"), Column("run")]
    return Report([Table(columns + list(map(number, [*heads, "invalid", "not judged", "not timed"])), rows)])


def _eval_results(samples: Iterable[KernelBenchSample]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for sample in samples:
        found.setdefault(str(sample.problem.number), []).append(kernelbench_sample(sample.number, sample.evaluation))
    return found


def _pass_at_k_results(samples: Sequence[KernelBenchSample], ks: Sequence[int]) -> dict[str, Any]:
    found = counts(samples)
    problems = {str(problem.number): _pass_at_k_row(*found[problem], ks) for problem in sorted(found)}
    metadata = {
        "total_problems": len(problems),
        "problems_with_samples": len(problems),
        "total_evaluated_samples": sum(total for total, _ in found.values()),
        "total_correct_samples": sum(passed for _, passed in found.values()),
        **{f"pass@{k}_count": sum(f"pass@{k}" in row for row in problems.values()) for k in ks},
    }
    averages = {f"avg_pass@{k}": share for k, share in average_pass_at_k(list(found.values()), ks).items()}
    return {"averages": averages, "metadata": metadata, "problems": problems}


def _pass_at_k_row(total: int, passed: int, ks: Sequence[int]) -> dict[str, Any]:
    drawn = {f"pass@{k}": pass_at_k(total, passed, k) for k in (min(total, k) for k in ks)}
    return {"total_samples": total, "correct_samples": passed, **drawn}


def _metadata(evaluation: Evaluation) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "hardware": evaluation.environment.gpu or "simulator",
        "device": evaluation.environment.backend,
        "problem": evaluation.problem.name,
        "solution": evaluation.solution.name,
        "verdict": evaluation.verdict.value,
        "evaluation": evaluation.id,
    }
    if evaluation.own_share is not None:
        facts["own_share"] = evaluation.own_share
    if evaluation.failure:
        facts["error"] = evaluation.failure.reason
        if evaluation.failure.evidence:
            facts["seen_by"] = evaluation.failure.seen_by
    return facts
