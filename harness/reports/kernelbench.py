"""KernelBench's files of our verdicts, as its own scripts read them, and a table of their scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from harness.records.kernelbench_scores import SIMULATOR, Field, Sample, Score, average_pass_at_k, counts, pass_at_k
from harness.reports.export import call_statistics, kernelbench_sample
from harness.reports.untrusted import one_line

_BASELINE_FILES = {
    "eager": "baseline_time_torch",
    "compile": "baseline_time_torch_compile_inductor_default",
    "compile-max-autotune": "baseline_time_torch_compile_inductor_max-autotune",
}
"""KernelBench's names; other baselines are 'baseline_time_torch_<name>'."""


def files_of(fields: Sequence[Field], ks: Sequence[int]) -> Iterator[tuple[str, dict[str, Any]]]:
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


def score_json(score: Score) -> dict[str, Any]:
    return {**asdict(score), "pass_at_k": {f"avg_pass@{k}": share for k, share in score.pass_at_k.items()}}


def scores_table(scores: Sequence[Score]) -> Table:
    """A row per GPU, level and run."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("GPU", "level", "run"):
        table.add_column(name, overflow="fold")
    shown = (0.0, 1.0, 2.0)
    ks = list(scores[0].pass_at_k) if scores else []
    numbers = ["problems", "samples", "correct", *(f"fast_{p:g}" for p in shown), "geomean"]
    for name in [*numbers, *(f"pass@{k}" for k in ks), "invalid", "not judged", "not timed"]:
        table.add_column(name, justify="right")
    for score in scores:
        speeds = [score.fast_p[p] for p in shown] if score.fast_p else [None] * len(shown)
        table.add_row(
            *(one_line(score.gpu), str(score.level), one_line(score.run)),
            *map(str, (score.problems, score.samples, score.correct)),
            *map(_number, (*speeds, score.geometric_mean, *score.pass_at_k.values())),
            *map(str, (score.invalid_problems, score.not_judged, score.not_timed)),
        )
    return table


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.4f}"


def _eval_results(samples: Iterable[Sample]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for sample in samples:
        found.setdefault(str(sample.problem.number), []).append(kernelbench_sample(sample.number, sample.evaluation))
    return found


def _pass_at_k_results(samples: Sequence[Sample], ks: Sequence[int]) -> dict[str, Any]:
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
