"""Numbers for people: rounded when displayed, to the digits that their interval supports."""

from __future__ import annotations

import math

from harness.records.check import Check
from harness.records.statistics import Interval


def format_speedup(interval: Interval | None) -> str:
    """'3.1270× [3.1214, 3.1331]': shown to the second digit of the interval's half-width."""
    if interval is None:
        return "—"
    half = max((interval.high - interval.low) / 2, 1e-12)
    digits = min(4, max(1, 1 - math.floor(math.log10(half))))
    return f"{interval.estimate:.{digits}f}× [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"


def format_ms(nanoseconds: float) -> str:
    """Milliseconds with four significant digits."""
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
