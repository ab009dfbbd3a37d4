"""An evaluation in one row: what rankings, histories and look-ups need without its samples and sources."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from harness.model.arms import OF_PRECISION, Baseline, Metric
from harness.model.ceilings import RateSource
from harness.model.config import Config
from harness.model.environment import BackendName
from harness.model.evaluation import Evaluation
from harness.model.statistics import SpeedVerdict
from harness.model.timing import fastest_baseline
from harness.model.verdict import Verdict


@dataclass(frozen=True)
class Entry:
    """The derived columns of one evaluation; times in nanoseconds, ratios as baseline over solution."""

    id: str
    key: str
    run: str
    started_at: str
    problem: str
    problem_sha256: str
    problem_precision: str
    solution: str
    solution_sha256: str
    solution_precision: str | None
    author: str | None
    backend: BackendName
    environment: str
    """Environment.fingerprint."""
    environment_label: str
    gpu_uuid: str | None
    harness: str
    commit: str | None
    config: str
    """config_hash() of its config."""
    cases: tuple[str, ...]
    verdict: Verdict
    is_fragile: bool
    """Wrong far from the drawn scale, see Evaluation.fragile."""
    expected_verdict: Verdict
    baseline: Baseline | None
    baseline_ns: float | None
    solution_ns: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    noise: str | None
    speed_of_light_ns: float | None
    """The least time of a call at the device's ceilings, for the precision that the solution declares."""
    light_source: RateSource | None
    """Whether theory or a measurement says so; None where that time isn't known."""
    own_share: float | None
    """How much of the device's time the solution's own kernels took, from 0 to 1."""
    metric: Metric | None
    """What the times are, see Timing."""
    speed: SpeedVerdict | None
    control: float | None
    """The A/A ratio with its interval; None where there was no control."""
    control_low: float | None
    control_high: float | None
    fastest_baseline: Baseline | None
    """Of several; None where there was one alone, as in all that follow."""
    fastest_ties: str | None
    """Others that may be as fast, separated by spaces; None where there are none."""
    fastest_ns: float | None
    fastest_speedup: float | None
    """The fastest's time over the solution's."""
    fastest_speedup_low: float | None
    fastest_speedup_high: float | None
    like_baseline: Baseline | None
    """The reference in the precision that the solution declares; None where it wasn't measured beside another."""
    like_ns: float | None
    like_speedup: float | None
    like_speedup_low: float | None
    like_speedup_high: float | None

    @property
    def share_of_light(self) -> float | None:
        """That time over the solution's own; 1 is the limit."""
        if self.speed_of_light_ns is None or self.solution_ns is None:
            return None
        return self.speed_of_light_ns / self.solution_ns


def entry_of(evaluation: Evaluation) -> Entry:
    timing = evaluation.timing
    speedup = timing.speedup if timing else None
    control = timing.control_ratio if timing else None
    fastest = fastest_baseline(timing) if timing else None
    over_fastest = fastest.speedup if fastest else None
    like = like_baseline(evaluation)
    over_like = timing.speedup_over(like) if timing and like else None
    return Entry(
        id=evaluation.id,
        key=evaluation.key,
        run=evaluation.run,
        started_at=evaluation.started_at,
        problem=evaluation.problem.name,
        problem_sha256=evaluation.problem.sha256,
        problem_precision=evaluation.problem.precision,
        solution=evaluation.solution.name,
        solution_sha256=evaluation.solution.sha256,
        solution_precision=evaluation.solution.precision,
        author=evaluation.solution.author,
        backend=evaluation.environment.backend,
        environment=evaluation.environment.fingerprint,
        environment_label=evaluation.environment.label,
        gpu_uuid=evaluation.environment.gpu_uuid,
        harness=evaluation.environment.harness,
        commit=evaluation.environment.commit,
        config=config_hash(evaluation.config),
        cases=evaluation.cases,
        verdict=evaluation.verdict,
        is_fragile=bool(evaluation.fragile),
        expected_verdict=evaluation.solution.expected_verdict,
        baseline=timing.baselines[0] if timing else None,
        baseline_ns=timing.time_ns(timing.baselines[0]) if timing else None,
        solution_ns=timing.time_ns("solution") if timing else None,
        speedup=speedup.estimate if speedup else None,
        speedup_low=speedup.low if speedup else None,
        speedup_high=speedup.high if speedup else None,
        noise=timing.noise if timing else None,
        speed_of_light_ns=evaluation.speed_of_light.ns if evaluation.speed_of_light else None,
        own_share=evaluation.own_share,
        light_source=evaluation.light_source,
        metric=timing.metric if timing else None,
        speed=timing.speed if timing else None,
        control=control.estimate if control else None,
        control_low=control.low if control else None,
        control_high=control.high if control else None,
        fastest_baseline=fastest.baseline if fastest else None,
        fastest_ties=" ".join(fastest.ties) or None if fastest else None,
        fastest_ns=fastest.time_ns if fastest else None,
        fastest_speedup=over_fastest.estimate if over_fastest else None,
        fastest_speedup_low=over_fastest.low if over_fastest else None,
        fastest_speedup_high=over_fastest.high if over_fastest else None,
        like_baseline=like,
        like_ns=timing.time_ns(like) if timing and like else None,
        like_speedup=over_like.estimate if over_like else None,
        like_speedup_low=over_like.low if over_like else None,
        like_speedup_high=over_like.high if over_like else None,
    )


def like_baseline(evaluation: Evaluation) -> Baseline | None:
    """The reference in the precision that the solution declares, where it was measured beside another."""
    like = OF_PRECISION.get(evaluation.solution.precision or "")
    return like if evaluation.timing and like in evaluation.timing.baselines[1:] else None


def config_hash(config: Config) -> str:
    """Eight hexadecimal digits; equal for equal settings."""
    return hashlib.sha256(json.dumps(config.identity, sort_keys=True).encode()).hexdigest()[:8]
