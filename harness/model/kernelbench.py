"""KernelBench's names for problems and samples, and its scores of our verdicts (fast_p, pass@k, mean speed-up)."""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.model.arms import Baseline, Metric
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict

_PROBLEM = re.compile(r"level(\d+)_((\d+)(?:_.*)?)")
_SAMPLE = re.compile(r"(.+)_sample_(\d+)")


@dataclass(frozen=True, order=True)
class KernelBenchProblem:
    """A problem by its level, its number there, and its file's name without '.py'."""

    level: int
    number: int
    stem: str

    @property
    def name(self) -> str:
        """Our folder's name, e.g. 'level1_26_GELU_'."""
        return f"level{self.level}_{self.stem}"

    @property
    def file(self) -> str:
        """KernelBench's name, e.g. '26_GELU_.py'."""
        return f"{self.stem}.py"


def kernelbench_problem(name: str) -> KernelBenchProblem | None:
    """The problem of a folder such as 'level1_26_GELU_'; None for a name that has no level and number."""
    match = _PROBLEM.fullmatch(name)
    return KernelBenchProblem(int(match[1]), int(match[3]), match[2]) if match else None


def solution_name(run: str, sample: int) -> str:
    return f"{run}_sample_{sample}"


def run_and_sample(solution: str) -> tuple[str, int]:
    """The run and the sample that a solution's name holds; any other name is a run whose only sample is 0."""
    match = _SAMPLE.fullmatch(solution)
    return (match[1], int(match[2])) if match else (solution, 0)


SIMULATOR = "simulator"
"""The stand-in for the GPU of what was evaluated without one."""
THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
"""The speed-ups p of KernelBench's own fast_p table."""


@dataclass(frozen=True)
class KernelBenchSample:
    """The part of an evaluation that counts."""

    evaluation: Evaluation
    problem: KernelBenchProblem
    run: str
    number: int

    @property
    def passed(self) -> bool:
        return self.evaluation.verdict.passed

    @property
    def is_judged(self) -> bool:
        """True where the verdict says anything about the solution."""
        return self.passed or self.evaluation.verdict.blames_solution

    @property
    def mean_ns(self) -> float | None:
        timing = self.evaluation.timing
        return statistics.fmean(timing.calls_ns("solution")) if timing else None


@dataclass(frozen=True)
class KernelBenchLevel:
    """A level on one GPU: its problems without those that can't tell, and what counts of every run."""

    gpu: str
    level: int
    problems: tuple[KernelBenchProblem, ...]
    invalid: tuple[KernelBenchProblem, ...]
    runs: dict[str, tuple[KernelBenchSample, ...]]
    """Judged samples of `problems`, in order; on a GPU, those that passed are timed."""
    not_judged: dict[str, int] = field(default_factory=dict)
    """The number of samples of each run whose verdict says nothing about them."""
    not_timed: dict[str, int] = field(default_factory=dict)
    """The number of samples of each run that passed on the GPU and were not timed: they can't be scored."""

    def baseline_ns(self, problem: KernelBenchProblem, baseline: Baseline = "eager") -> list[int]:
        """Return every call of the baseline, measured beside any solution of the problem; empty where none passed.

        The device's time of cold calls where there is any of it, for other metrics are not to be mixed with it.
        """
        by_metric: dict[Metric, list[int]] = defaultdict(list)
        for sample in self._samples():
            timing = sample.evaluation.timing
            if sample.problem == problem and timing is not None and baseline in timing.baselines:
                by_metric[timing.metric] += timing.calls_ns(baseline)
        return by_metric["gpu_cold"] or next(iter(by_metric.values()), [])

    def baselines(self) -> list[Baseline]:
        """Return the baselines that were measured, eager first."""
        timings = (sample.evaluation.timing for sample in self._samples())
        return list(dict.fromkeys(["eager", *(name for timing in timings if timing for name in timing.baselines)]))

    def _samples(self) -> Iterator[KernelBenchSample]:
        return (sample for samples in self.runs.values() for sample in samples)


@dataclass(frozen=True)
class KernelBenchScore:
    """The score of a run. fast_p and the mean are over its samples 0, as in KernelBench; None where nothing is
    timed."""

    gpu: str
    level: int
    run: str
    problems: int
    samples: int
    correct: int
    fast_p: dict[float, float] | None
    geometric_mean: float | None
    pass_at_k: dict[int, float | None]
    invalid_problems: int
    not_judged: int
    not_timed: int


def fields_of(evaluations: Iterable[Evaluation], problem_names: Iterable[str]) -> list[KernelBenchLevel]:
    """Sort evaluations into levels. `evaluations` has one per solution and GPU; `problem_names` has every problem to be
    counted, though nobody tried it."""
    every = {problem for name in problem_names if (problem := kernelbench_problem(name))}
    groups: dict[tuple[str, int], list[KernelBenchSample]] = defaultdict(list)
    for evaluation in evaluations:
        if problem := kernelbench_problem(evaluation.problem.name):
            run, number = run_and_sample(evaluation.solution.name)
            gpu = evaluation.environment.gpu or SIMULATOR
            groups[gpu, problem.level].append(KernelBenchSample(evaluation, problem, run, number))
    return [_field(*key, groups[key], every) for key in sorted(groups)]


def score(field: KernelBenchLevel, run: str, ks: Sequence[int]) -> KernelBenchScore:
    """Score a run of the field; `ks` are the k of pass@k."""
    samples = field.runs[run]
    baselines = {problem: field.baseline_ns(problem) for problem in {sample.problem for sample in samples}}
    speedups = [
        statistics.fmean(baselines[sample.problem]) / sample.mean_ns
        for sample in samples
        if sample.number == 0 and sample.mean_ns is not None and baselines[sample.problem]
    ]
    fast_p = {p: _share(sum(one > p for one in speedups), len(field.problems)) for p in THRESHOLDS}
    is_timed = field.gpu != SIMULATOR
    return KernelBenchScore(
        gpu=field.gpu,
        level=field.level,
        run=run,
        problems=len(field.problems),
        samples=len(samples),
        correct=sum(sample.passed for sample in samples),
        fast_p=fast_p if is_timed else None,
        geometric_mean=(statistics.geometric_mean(speedups) if speedups else 0.0) if is_timed else None,
        pass_at_k=known_pass_at_k(list(counts(samples).values()), ks),
        invalid_problems=len(field.invalid),
        not_judged=field.not_judged[run],
        not_timed=field.not_timed[run],
    )


def counts(samples: Iterable[KernelBenchSample]) -> dict[KernelBenchProblem, tuple[int, int]]:
    """Count the samples of each problem, and those of them that passed."""
    passed: dict[KernelBenchProblem, list[bool]] = defaultdict(list)
    for sample in samples:
        passed[sample.problem].append(sample.passed)
    return {problem: (len(which), sum(which)) for problem, which in passed.items()}


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """The chance that one of k samples, drawn without putting back, passes (Chen et al. 2021, arXiv:2107.03374)."""
    if samples - passed < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / n for n in range(samples - passed + 1, samples + 1))


def average_pass_at_k(found: Sequence[tuple[int, int]], ks: Sequence[int]) -> dict[int, float]:
    """Average as KernelBench does: over all problems, of which those with fewer than k samples add nothing, unless
    another k is their number of samples."""
    return {
        k: _share(sum(pass_at_k(n, passed, k) for n, passed in found if k in {min(n, one) for one in ks}), len(found))
        for k in ks
    }


def known_pass_at_k(found: Sequence[tuple[int, int]], ks: Sequence[int]) -> dict[int, float | None]:
    """average_pass_at_k(), and None where no problem has as many samples."""
    most = max((n for n, _ in found), default=0)
    return {k: share if k <= most else None for k, share in average_pass_at_k(found, ks).items()}


def _field(
    gpu: str, level: int, samples: Sequence[KernelBenchSample], every: Iterable[KernelBenchProblem]
) -> KernelBenchLevel:
    invalid = {one.problem for one in samples if one.evaluation.verdict is Verdict.INVALID_PROBLEM}
    known = {problem for problem in every if problem.level == level} | {one.problem for one in samples}
    runs: dict[str, list[KernelBenchSample]] = {run: [] for run in sorted({one.run for one in samples})}
    not_judged, not_timed = dict.fromkeys(runs, 0), dict.fromkeys(runs, 0)
    for sample in sorted(samples, key=lambda one: (one.problem, one.number)):
        if sample.problem in invalid:
            continue
        if not sample.is_judged:
            not_judged[sample.run] += 1
        elif sample.passed and gpu != SIMULATOR and not _is_timed(sample):
            not_timed[sample.run] += 1
        else:
            runs[sample.run].append(sample)
    whole = {run: tuple(found) for run, found in runs.items()}
    return KernelBenchLevel(
        gpu, level, tuple(sorted(known - invalid)), tuple(sorted(invalid)), whole, not_judged, not_timed
    )


def _is_timed(sample: KernelBenchSample) -> bool:
    """Say whether it was timed beside eager, which the scores need."""
    timing = sample.evaluation.timing
    return timing is not None and "eager" in timing.baselines


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0
