"""What stands above a picture: which evaluation it is of, and what was found."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass

from harness.records.evaluation import Evaluation
from harness.records.speed_verdict import SpeedVerdict
from harness.records.statistics import Interval
from harness.records.timing import Timing
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import one_line

_LONGEST_NAME, _LONGEST_LINE = 34, 118
_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))

_WORDS: dict[SpeedVerdict, str] = {
    "faster": "faster than",
    "slower": "slower than",
    "same": "the same as",
    "inconclusive": "not told apart from",
}


@dataclass(frozen=True)
class Heading:
    """`title` names problem and solution, `verdict` their speeds, `origin` where and when; two lines at most each."""

    title: str
    verdict: str
    origin: str


def heading_of(evaluation: Evaluation, timing: Timing) -> Heading:
    """Names are strangers' texts: harmless, and cut where they are long."""
    environment = evaluation.environment
    facts = (
        one_line(environment.gpu or "unknown GPU"),
        f"torch {one_line(environment.torch)}",
        f"case {_short(timing.case)}",
        f"{one_line(evaluation.started_at[:16].replace('T', ' '))} UTC",
        f"evaluation {one_line(evaluation.id)}",
    )
    return Heading(
        title=f"{_short(evaluation.problem.name)} / {_short(evaluation.solution.name)}",
        verdict=_wrapped(speed_words(timing)),
        origin=_wrapped(", ".join(facts)),
    )


def speed_words(timing: Timing) -> str:
    """'faster than eager: 3.0142× [3.0076, 3.0146], 95 % interval', with the reason where it is too noisy."""
    baseline, speedup = timing.baselines[0], timing.speedup
    if speedup is None:
        return f"against {baseline}: {timing.noise}"
    noise = "".join(f"; noisy: {reason}" for reason in timing.noises)
    return f"{_WORDS[timing.speed]} {baseline}: {format_speedup(speedup)}, 95 % interval{noise}"


def unit_of(ns: float) -> tuple[str, float]:
    """The unit in which a time has between one and four digits before its point, and the unit's nanoseconds."""
    return next(((name, size) for name, size in _UNITS if ns >= size), _UNITS[-1])


def format_span(ns: float) -> str:
    """'5.89 s': for orientation."""
    unit, size = unit_of(ns)
    return f"{ns / size:.3g} {unit}"


def format_median(median_ns: float, interval: Interval | None) -> str:
    """'10.834 ms [10.829, 10.838]': shown to the second digit of the interval's half-width."""
    unit, size = unit_of(median_ns)
    value = median_ns / size
    if interval is None:
        return f"{value:.4g} {unit}"
    half = max((interval.high - interval.low) / 2 / size, value * 1e-4)
    digits = max(0, 1 - math.floor(math.log10(half)))
    low, high = interval.low / size, interval.high / size
    return f"{value:.{digits}f} {unit} [{low:.{digits}f}, {high:.{digits}f}]"


def _short(name: str) -> str:
    plain = one_line(name)
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - 1]}…"


def _wrapped(line: str) -> str:
    return "\n".join(textwrap.wrap(line, _LONGEST_LINE, max_lines=2, placeholder=" …"))
