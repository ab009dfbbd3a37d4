"""Whether a speed-up is known as precisely as its config asked for; and if not, why measuring ended all the same."""

from __future__ import annotations

from harness.records.config import TimingConfig
from harness.records.statistics import LITTLE_SCATTER, between_processes
from harness.records.timing import Timing


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
    apart, attainable = between_processes(*arms, timing.fresh_pairs), LITTLE_SCATTER * timing.between_workers
    if apart > max(asked, attainable):
        return f"its processes' own speed-ups lie ±{_percent(apart)} apart, which no more blocks change"
    if half_width <= attainable:
        return (
            f"workers that run the very same may differ by ±{_percent(timing.between_workers)} where calls are so "
            "short, which no more blocks change; more timing.processes do"
        )
    if len(arms[0]) - max(timing.fresh_pairs, default=0) >= config.blocks:
        return f"the config allows no more than {config.blocks} blocks of each process (timing.blocks)"
    return f"the {config.budget_s:g} s for it were spent (timing.budget_s)"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
