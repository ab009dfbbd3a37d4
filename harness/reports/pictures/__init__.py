"""An evaluation's pictures as files, and what they show as numbers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.model.evaluation import Evaluation
from harness.model.statistics import SpeedVerdict
from harness.model.timing import Timing
from harness.reports.numbers import format_speedup
from harness.reports.pictures.axes import heading
from harness.reports.pictures.calls import Samples, samples_of
from harness.reports.pictures.drawing import Picture, save
from harness.reports.pictures.roof import Roofline, roofline_of
from harness.reports.pictures.roofline import draw_roofline
from harness.reports.pictures.samples import draw_samples
from harness.reports.untrusted import cut, one_line

PICTURE_FORMATS = ("svg", "png")
_WIDTH, _LONGEST_NAME, _LONGEST_LINE = 768.0, 34, 118

_SPEEDS: dict[SpeedVerdict, str] = {
    "faster": "faster than",
    "slower": "slower than",
    "same": "the same as",
    "inconclusive": "not told apart from",
}


def draw_pictures(evaluation: Evaluation, folder: Path, formats: Sequence[str]) -> dict[str, Any]:
    """Write `<problem>-<solution>-<end of the id>-samples.svg` and the like; `formats` are of PICTURE_FORMATS.

    Returns the numbers that they show: medians with their intervals, outliers, rates, ceilings.

    Raises: UsageError where nothing was timed; MachineError where matplotlib is missing for a PNG, or the folder can't
    be written.
    """
    timing = evaluation.timing
    if timing is None:
        raise UsageError(_untimed(evaluation))
    samples = samples_of(timing)
    roofline = roofline_of(evaluation, samples.arms)  # None in records that don't say how much work a call is
    name, drawn = _file_name(evaluation), list(_drawn(evaluation, timing, samples, roofline))
    files = {folder / f"{name}-{kind}.{ending}": one for kind, one in drawn for ending in formats}
    save(files)
    return {
        "id": evaluation.id,
        "problem": evaluation.problem.name,
        "solution": evaluation.solution.name,
        "files": [str(path) for path in files],
        "operations_per_byte": roofline and roofline.intensity,
        "ceilings": asdict(roofline.roof) if roofline and roofline.roof else None,
        "arms": list(_arms_json(samples, roofline)),
    }


def speed_words(timing: Timing) -> str:
    """'faster than eager: 3.0142× [3.0076, 3.0146], 95 % interval', with the reason where it is too noisy."""
    baseline, speedup = timing.baselines[0], timing.speedup
    if speedup is None:
        return f"against {baseline}: {timing.noise}"
    noise = "".join(f"; noisy: {reason}" for reason in timing.noises)
    return f"{_SPEEDS[timing.speed]} {baseline}: {format_speedup(speedup)}, 95 % interval{noise}"


def _arms_json(samples: Samples, roofline: Roofline | None) -> Iterator[dict[str, Any]]:
    points = {point.arm.name: point for point in roofline.points} if roofline else {}
    for arm in samples.arms:
        point = points.get(arm.name)
        yield {
            "arm": arm.name,
            "calls": len(arm.ns),
            "outliers": sum(arm.outliers),
            "median_ns": arm.median_ns,
            "typical_ns": arm.typical_ns,
            "low_ns": arm.interval and arm.interval.low,
            "high_ns": arm.interval and arm.interval.high,
            "bytes_per_s": point and point.bytes_per_s,
            "operations_per_s": point and point.operations_per_s,
            "share": point and point.share,
            "bound": point and point.bound,
        }


def _drawn(
    evaluation: Evaluation, timing: Timing, samples: Samples, roofline: Roofline | None
) -> Iterator[tuple[str, Picture]]:
    title, lines = _heading(evaluation, timing)
    head, top = heading(title, lines)
    marks, bottom = draw_samples(samples, top)
    yield "samples", Picture((*head, *marks), bottom, _WIDTH, f"{title}: the calls of each arm")
    if roofline:
        marks, bottom = draw_roofline(roofline, top)
        yield "roofline", Picture((*head, *marks), bottom, _WIDTH, f"{title}: what each arm achieved")


def _heading(evaluation: Evaluation, timing: Timing) -> tuple[str, list[tuple[str, str]]]:
    """Names, speeds, where and when. Names are strangers' texts: harmless, and cut where they are long."""
    environment = evaluation.environment
    facts = (
        one_line(environment.gpu or "unknown GPU"),
        f"torch {one_line(environment.torch)}",
        f"case {cut(one_line(timing.case), _LONGEST_NAME)}",
        f"{one_line(evaluation.started_at[:16].replace('T', ' '))} UTC",
        f"evaluation {one_line(evaluation.id)}",
    )
    lines = [(line, "ink") for line in _wrapped(speed_words(timing))]
    lines += [(line, "faint") for line in _wrapped(", ".join(facts))]
    names = (evaluation.problem.name, evaluation.solution.name)
    return " / ".join(cut(one_line(name), _LONGEST_NAME) for name in names), lines


def _untimed(evaluation: Evaluation) -> str:
    name = one_line(f"{evaluation.problem.name}/{evaluation.solution.name}")
    simulated = evaluation.environment.backend == "sim"
    why = "a simulated run has no times" if simulated else f"it ended as {evaluation.verdict.value}"
    if evaluation.verdict.passed and not simulated:
        why = "it ran without timing"
    return (
        f"evaluation {one_line(evaluation.id)} of {name} has no times to draw: {why}. 'harness plot PROBLEM' draws the "
        "newest that was timed, 'harness history PROBLEM' lists all"
    )


def _file_name(evaluation: Evaluation) -> str:
    """Names in records are strangers' texts: what could lead elsewhere is taken out."""
    names = (evaluation.problem.name, evaluation.solution.name, evaluation.id.rpartition("-")[2])
    return "-".join(re.sub(r"[^A-Za-z0-9_.]+", "_", name).strip(".")[:60] or "_" for name in names)


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _LONGEST_LINE, max_lines=2, placeholder=" …")
