"""An evaluation in one row: what rankings, histories and look-ups need without its samples and sources."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from harness.model.arms import OF_PRECISION, Baseline, Metric
from harness.model.ceilings import RateSource
from harness.model.config import Config, ConfinementLevel
from harness.model.environment import BackendName
from harness.model.evaluation import Evaluation
from harness.model.statistics import Interval, SpeedVerdict
from harness.model.timing import OverBaseline, fastest_baseline
from harness.model.verdict import Verdict
from harness.store.line import NoRecord


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
    """The Environment.fingerprint."""
    environment_label: str
    gpu_uuid: str | None
    harness: str
    commit: str | None
    config: str
    """The config_hash() of its config."""
    cases: tuple[str, ...]
    verdict: Verdict
    is_fragile: bool
    """True where it passed, see Evaluation.is_fragile."""
    confinement: ConfinementLevel | None
    """The level of the workers' confinement; None where the record doesn't have it."""
    expected_verdict: Verdict
    baseline: Baseline | None
    baseline_ns: float | None
    solution_ns: float | None
    speedup: Interval | None
    """The headline with its 95 % interval."""
    noise: str | None
    speed_of_light_ns: float | None
    """The least time of a call at the device's ceilings, for the precision that the solution declares."""
    light_source: RateSource | None
    """The source of that time, theory or a measurement; None where it isn't known."""
    own_share: float | None
    """The share of the device's time that the solution's own kernels took, from 0 to 1."""
    metric: Metric | None
    """The kind of times, see Timing."""
    speed: SpeedVerdict | None
    control: Interval | None
    """The A/A ratio with its interval; None where there was no control."""
    fastest: OverBaseline | None
    """The fastest of several baselines; None where there was one alone."""
    like: OverBaseline | None
    """The reference in the precision that the solution declares; None where it wasn't measured beside another."""

    @property
    def estimate(self) -> float:
        """The headline without its interval, to sort by; 0 where there is none."""
        return self.speedup.estimate if self.speedup else 0.0

    @property
    def share_of_light(self) -> float | None:
        """The speed of light's time over the solution's own; 1 is the limit."""
        if self.speed_of_light_ns is None or self.solution_ns is None:
            return None
        return self.speed_of_light_ns / self.solution_ns


@dataclass(frozen=True)
class Tally:
    """The number of evaluations of a solution in one environment, under one config and version of the problem."""

    environment: str
    environment_label: str
    config: str
    problem: str
    problem_sha256: str
    solution: str
    evaluations: int
    is_measured: bool
    """True where at least one of them passed and was timed."""
    newest: str
    is_simulated: bool


def _bounds(name: str, interval: Interval | None = None) -> dict[str, float | None]:
    """An interval's three columns."""
    numbers = (interval.estimate, interval.low, interval.high) if interval else (None, None, None)
    return dict(zip((name, f"{name}_low", f"{name}_high"), numbers, strict=True))


_SEVERAL = {
    "speedup": (*_bounds("speedup"),),
    "control": (*_bounds("control"),),
    "fastest": ("fastest_baseline", "fastest_ties", "fastest_ns", *_bounds("fastest_speedup")),
    "like": ("like_baseline", "like_ns", *_bounds("like_speedup")),
}
"""Fields that take several columns."""
_FIELDS = tuple(field.name for field in fields(Entry))
NAMES = tuple(name for field in _FIELDS for name in _SEVERAL.get(field, (field,)))
"""The names of the columns, which programs read as well: in CSV, in a history's JSON."""
COLUMNS = tuple(f'"{name}"' for name in NAMES)
"""The same, quoted: `commit` is a word of SQL."""

ID = 1 + NAMES.index("id")
"""The place of the id in values_of()."""


def entry_of(evaluation: Evaluation) -> Entry:
    timing = evaluation.timing
    like = like_baseline(evaluation)
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
        is_fragile=evaluation.is_fragile,
        confinement=evaluation.confinement,
        expected_verdict=evaluation.solution.expected_verdict,
        baseline=timing.baselines[0] if timing else None,
        baseline_ns=evaluation.baseline_ns,
        solution_ns=evaluation.solution_ns,
        speedup=evaluation.speedup,
        noise=timing.noise if timing else None,
        speed_of_light_ns=evaluation.speed_of_light.ns if evaluation.speed_of_light else None,
        own_share=evaluation.own_share,
        light_source=evaluation.light_source,
        metric=evaluation.metric,
        speed=timing.speed if timing else None,
        control=timing.control_ratio if timing else None,
        fastest=fastest_baseline(timing) if timing else None,
        like=OverBaseline(like, timing.time_ns(like), timing.speedup_over(like)) if timing and like else None,
    )


def like_baseline(evaluation: Evaluation) -> Baseline | None:
    """The reference in the precision that the solution declares, where it was measured beside another."""
    like = OF_PRECISION.get(evaluation.solution.precision or "")
    return like if evaluation.timing and like in evaluation.timing.baselines[1:] else None


def config_hash(config: Config) -> str:
    """Return eight hexadecimal digits, equal for equal settings."""
    return hashlib.sha256(json.dumps(config.identity, sort_keys=True).encode()).hexdigest()[:8]


def columns_of(entry: Entry) -> dict[str, Any]:
    """Return what it says by column."""
    facts = {**vars(entry), **_bounds("speedup", entry.speedup), **_bounds("control", entry.control)}
    for name, over in (("fastest", entry.fastest), ("like", entry.like)):
        facts[f"{name}_baseline"], facts[f"{name}_ns"] = (over.baseline, over.time_ns) if over else (None, None)
        facts[f"{name}_ties"] = " ".join(over.ties) or None if over else None
        facts |= _bounds(f"{name}_speedup", over.speedup if over else None)
    return {name: facts[name] for name in NAMES}


def values_of(entry: Entry) -> list[Any]:
    """Return its standing, and what it says in the order of COLUMNS. Raises: NoRecord for a number that SQLite can't
    hold."""
    return [standing_of(entry), *map(_to_sql, columns_of(entry).values())]


def standing_of(entry: Entry) -> Literal["rankable", "passed", "failed", "unjudged"]:
    """Say whether a leaderboard may rank it, as far as the entry alone shows; else whose fault it is that it can't."""
    if not entry.verdict.passed:
        return "failed" if entry.verdict.blames_solution else "unjudged"
    is_meant_to_pass = entry.expected_verdict.passed and entry.backend != "sim"
    return "rankable" if is_meant_to_pass and entry.speedup is not None and entry.noise is None else "passed"


def entry_from(values: Sequence[Any]) -> Entry:
    """Make an entry of values in the order of COLUMNS."""
    speedup, control, fastest, like = (values[place] for place in _SLICES)
    facts = {field: values[at] for field, at in _PLAIN}
    facts["cases"] = _cases(facts["cases"])
    facts["verdict"] = _VERDICT_OF[facts["verdict"]]
    facts["expected_verdict"] = _VERDICT_OF[facts["expected_verdict"]]
    facts["speedup"], facts["control"] = _interval(*speedup), _interval(*control)
    facts["fastest"], facts["like"] = _over(*fastest), _over(like[0], None, *like[1:])
    entry = object.__new__(Entry)
    entry.__dict__.update(facts)  # a frozen dataclass's own way takes three times as long
    return entry


_PLAIN = tuple((field, NAMES.index(field)) for field in _FIELDS if field not in _SEVERAL)
"""Fields of one column, each with its place."""
_SLICES = tuple(slice(at := NAMES.index(names[0]), at + len(names)) for names in _SEVERAL.values())
_VERDICT_OF = {verdict.value: verdict for verdict in Verdict}


def _over(baseline: Baseline | None, ties: str | None, ns: float, *bounds: float) -> OverBaseline | None:
    return baseline and OverBaseline(baseline, ns, _interval(*bounds), tuple((ties or "").split()))


def _interval(estimate: float | None, low: float, high: float) -> Interval | None:
    return None if estimate is None else Interval(estimate, low, high, 0.95)


@functools.lru_cache(maxsize=1024)
def _cases(text: str) -> tuple[str, ...]:
    """Parse the cases; few different ones stand in many rows."""
    return tuple(json.loads(text))


def _to_sql(value: Any) -> Any:
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, str):
        return value.encode(errors="replace").decode()  # a lone surrogate, as in a file's name that is no UTF-8
    if isinstance(value, int) and value.bit_length() > 63:
        raise NoRecord(f"{value} is too large a number")
    return value
