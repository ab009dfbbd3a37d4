"""What a measurement shows, in rows: the word, what equal arms show, the further metrics, what makes it noisy."""

from __future__ import annotations

from harness.records.evaluation import Evaluation
from harness.reports.numbers import format_speedup
from harness.reports.timing_table import gpu_words
from harness.reports.untrusted import one_line


def speed_rows(evaluation: Evaluation) -> tuple[tuple[str, str], ...]:
    """Ratios are over the first baseline; empty without a timing."""
    timing = evaluation.timing
    if timing is None:
        return ()
    first = timing.baselines[0]
    intervals = (
        ("equal arms (A/A)", timing.control_ratio),
        *((row.metric, timing.of_row(row).speedup_over(first)) for row in timing.rows),
        ("launch", timing.launch_ratio_over(first)),
    )
    rows = (
        ("speed", f"{timing.speed}: {timing.metric} over {first}, equal within {100 * timing.delta:.1f} %"),
        *((name, format_speedup(interval)) for name, interval in intervals if interval),
        *(("noisy", reason) for reason in timing.noises),
        *(("remark", remark) for remark in timing.oddities),
        ("precision", evaluation.missed_precision or ""),
        ("GPU", gpu_words(timing)),
    )
    return tuple((name, one_line(text)) for name, text in rows if text)
