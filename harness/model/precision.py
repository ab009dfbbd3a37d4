"""Whether a speed-up is known as precisely as its config asked for; and if not, why measuring ended all the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.model.config import TimingConfig
from harness.model.statistics import LITTLE_SCATTER, MANY, between_processes, between_workers, paired_ratio
from harness.model.timing import Timing


def missed_precision(timing: Timing, config: TimingConfig) -> str | None:
    """'the interval is ±0.49 %, ±0.25 % was asked for: …'; None where none was asked for, or no ratio is claimed."""
    asked, speedup = config.precision, timing.speedup
    if asked is None or speedup is None or speedup.half_width <= asked:
        return None
    reached = f"the interval is ±{_percent(speedup.half_width)}, ±{_percent(asked)} was asked for"
    return f"{reached}: {_why(timing, config, asked, speedup.half_width)}"


def _why(timing: Timing, config: TimingConfig, asked: float, half_width: float) -> str:
    """Which of referee.timing.series' ends it was."""
    arms = timing.block_ns(timing.baselines[0]), timing.block_ns("solution")
    last_at = max(timing.fresh_pairs, default=0)
    apart, attainable = between_processes(*arms, timing.fresh_pairs), LITTLE_SCATTER * timing.between_workers
    is_last_quiet = _scatters_within(asked, arms[0][last_at:], arms[1][last_at:])
    if apart > max(asked, attainable) and timing.processes < MANY and is_last_quiet:
        return f"its processes' own speed-ups lie ±{_percent(apart)} apart, which no more blocks change"
    if half_width <= attainable:
        return (
            f"workers that run the very same may differ by ±{_percent(timing.between_workers)} where calls are so "
            "short, which no more blocks change; more timing.processes do"
        )
    if len(arms[0]) - last_at >= config.blocks:
        return f"the config allows no more than {config.blocks} blocks of each process (timing.blocks)"
    return f"the {config.budget_s:g} s for it were spent (timing.budget_s)"


def _scatters_within(asked: float, above_ns: Sequence[float], below_ns: Sequence[float]) -> bool:
    """Whether one process's blocks do, what workers differ by left aside."""
    own, apart = paired_ratio(above_ns, below_ns), between_workers(above_ns, below_ns)
    return own is not None and own.half_width <= max(math.hypot(asked, apart), LITTLE_SCATTER * apart)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
