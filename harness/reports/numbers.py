"""Numbers for people: rounded when displayed, to the digits that their interval supports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.model.ceilings import RateSource
from harness.model.check import Check, DerivedTolerance
from harness.model.evaluation import SpeedOfLight, Work
from harness.model.plural import several
from harness.model.statistics import Interval

SOURCES: Mapping[RateSource, str] = {"theory": "in theory", "measured": "as measured"}
"""Words for where a ceiling comes from."""
_LOW_OWN_SHARE = 0.1
_UNITS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0))


def format_speedup(interval: Interval | None) -> str:
    """'3.1270× [3.1214, 3.1331]': shown to the second digit of the interval's half-width, and to four decimals at most;
    below 0.1 to a thousandth of itself, so that the least that two workers differ by is still seen."""
    if interval is None:
        return "—"
    half = max((interval.high - interval.low) / 2, 1e-12)
    most = max(4, -math.floor(math.log10(interval.estimate / 1000)))
    digits = min(most, max(1, 1 - math.floor(math.log10(half))))
    return f"{interval.estimate:.{digits}f}× [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def format_ms(nanoseconds: float | None) -> str:
    """Milliseconds with four significant digits; '—' for what wasn't timed."""
    if nanoseconds is None:
        return "—"
    milliseconds = nanoseconds / 1e6
    digits = max(0, 3 - math.floor(math.log10(milliseconds))) if milliseconds > 0 else 0
    return f"{milliseconds:.{min(digits, 6)}f}"


def format_error(checks: tuple[Check, ...]) -> str:
    """The worst error as a multiple of its tolerance: '0.12', 'exact', '3.1e+04', 'wrong'."""
    if not checks:
        return "—"
    worst = max(check.worst for check in checks)
    if worst == 0 and all(check.is_exact for check in checks):
        return "exact"
    if math.isinf(worst):
        return "wrong"
    if worst < 0.01:
        return "<0.01"
    return f"{worst:.2f}" if worst < 100 else f"{worst:.1e}"


def derived_words(derived: DerivedTolerance) -> str:
    """'full: held to 0.003 of the local scale (|want| + root mean square), by the reference's own error (eager …)', or
    'full: held to equality'."""
    errors = ", ".join(f"{name} {error:.2g}" for name, error in derived.errors.items())
    why = "the least that is asked" if derived.share == derived.least else "by the reference's own error"
    which = f", output {derived.output}" if derived.output else ""
    if not (derived.share or errors):
        return f"{derived.case}{which}: held to equality"
    held = f"held to {derived.share:.2g} of the local scale (|want| + root mean square)"
    return f"{derived.case}{which}: {held}, {why}" + (f" ({errors})" if errors else "")


def format_rate(per_second: float, unit: str) -> str:
    """Three significant digits under a thousand: '2.31 TB/s'."""
    if not math.isfinite(per_second):
        return f"{per_second} {unit}"
    for prefix, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= size * 0.9995:
            scaled = per_second / size
            digits = max(0, 2 - math.floor(math.log10(scaled)))
            return f"{scaled:.{digits}f}".removesuffix(".00") + f" {prefix}{unit}"
    return f"{per_second:.3g} {unit}"


def format_share(share: float | None, source: RateSource | None = None) -> str:
    """A share of the speed of light in percent, to the two digits that ceilings support: '93 %', '4.1 % of theory'."""
    if share is None:
        return "—"
    percent = 100 * share
    number = f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %" if percent >= 0.1 else "<0.1 %"
    return f"{number} of {source}" if source else number


def light_note(shares: Sequence[tuple[str, float | None, RateSource | None]]) -> str | None:
    """The note under a table with a column SOL: 'SOL: of theory; plain, tiled: of measured'. None where no share is
    known."""
    names: dict[RateSource, list[str]] = {}
    for name, share, source in shares:
        if share is not None and source is not None:
            names.setdefault(source, []).append(name)
    if not names:
        return None
    (most, _), *others = sorted(names.items(), key=lambda item: -len(item[1]))
    return "; ".join([f"SOL: of {most}", *(f"{', '.join(few)}: of {source}" for source, few in others)])


def format_moment(iso: str, to_seconds: bool = False) -> str:
    """'2026-11-21 15:30', of a time in UTC."""
    return iso[: 19 if to_seconds else 16].replace("T", " ")


def format_own_share(share: float | None) -> str:
    """The share of the device's time in own kernels: '98 %'; '4.1 % (low)' below 10 %."""
    return format_share(share) + (" (low)" if share is not None and share < _LOW_OWN_SHARE else "")


def format_flags(flags: Mapping[str, bool | str]) -> str:
    """'cudnn_allow_tf32 on, float32_matmul_precision highest'."""
    words = {True: "on", False: "off"}
    return ", ".join(f"{name} {flag if isinstance(flag, str) else words[flag]}" for name, flag in flags.items())


def scopes_and_variants(checks: Sequence[Check]) -> str:
    """'complete, timed turn, 2 variants': how values were judged."""
    words = list(dict.fromkeys(check.scope.replace("_", " ") for check in checks))
    if count := len({check.variant for check in checks if check.variant}):
        words.append(several(count, "variant"))
    return ", ".join(words)


def variants_of(checks: Sequence[Check]) -> str | None:
    """'variants: negative, few distinct inputs'; None where there are none."""
    names = list(dict.fromkeys(check.variant for check in checks if check.variant))
    return f"variants: {', '.join(names)} inputs" if names else None


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


def work_words(work: Work) -> str:
    """'4.29 GB to move, 2.14 GB of them written; no operations counted'."""
    written = "" if work.written_bytes is None else f", {format_rate(work.written_bytes, 'B')} of them written"
    operations = "no operations counted" if work.operations is None else f"{format_rate(work.operations, 'FLOP')}"
    return f"{format_rate(work.least_bytes, 'B')} to move{written}; {operations}"


def light_words(light: SpeedOfLight) -> str:
    """'1.415 ms, by memory, in theory' and '11.40 ms, by float32 arithmetic, as measured (memory, in theory: 0.2550
    ms)'."""
    by_memory = f"memory, {SOURCES[light.memory_source]}"
    if light.arithmetic_ns is None:
        return f"{format_ms(light.ns)} ms, by {by_memory}"
    by_arithmetic = f"{light.arithmetic} arithmetic, {SOURCES[light.arithmetic_source]}"
    times = {by_memory: light.memory_ns, by_arithmetic: light.arithmetic_ns}
    (shorter, less_ns), (longer, _) = sorted(times.items(), key=lambda item: item[1])
    return f"{format_ms(light.ns)} ms, by {longer} ({shorter}: {format_ms(less_ns)} ms)"


def round_rate(rate: float, unit: str) -> str:
    """'10 TFLOP/s': a tick's."""
    number, _, rest = format_rate(rate, unit).partition(" ")
    return f"{float(number):g} {rest}".strip() if rate else "0"
