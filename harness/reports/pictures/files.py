"""An evaluation's pictures as files, and what they show as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import MachineError, UsageError
from harness.records.evaluation import Evaluation
from harness.records.roofline import arithmetic_of, speed_of_light
from harness.records.timing import Timing
from harness.reports.pictures.canvas import Canvas, canvas, save
from harness.reports.pictures.draw_roofline import draw_roofline, roofline_inches
from harness.reports.pictures.draw_samples import draw_samples, samples_inches
from harness.reports.pictures.heading import heading_of
from harness.reports.pictures.roof import roof_of
from harness.reports.pictures.roofline import RooflinePicture, roofline_picture
from harness.reports.pictures.samples import SamplesPicture, samples_picture
from harness.reports.untrusted import one_line

FORMATS = ("svg", "png")


@dataclass(frozen=True)
class Pictures:
    """What the pictures of an evaluation show. `roofline` is None in records that don't say how much work a call is."""

    evaluation: Evaluation
    timing: Timing
    samples: SamplesPicture
    roofline: RooflinePicture | None


def pictures_of(evaluation: Evaluation) -> Pictures:
    """Raises: UsageError where nothing was timed."""
    timing = evaluation.timing
    if timing is None:
        raise UsageError(_untimed(evaluation))
    samples = samples_picture(timing)
    return Pictures(evaluation, timing, samples, _roofline(evaluation, samples))


def write_pictures(pictures: Pictures, folder: Path, formats: Sequence[str]) -> list[Path]:
    """`<problem>-<solution>-<end of the id>-samples.svg` and the like; `formats` are of FORMATS.

    Raises: MachineError where matplotlib is missing or the folder can't be written.
    """
    written = []
    try:
        for kind, drawn in _drawn(pictures):
            folder.mkdir(parents=True, exist_ok=True)
            for ending in formats:
                path = folder / f"{_file_name(pictures.evaluation)}-{kind}.{ending}"
                save(drawn, path)
                written.append(path)
    except OSError as error:
        raise MachineError(
            f"can't write {error.filename or folder}: {error.strerror}; choose another --output"
        ) from None
    return written


def pictures_json(pictures: Pictures, files: Sequence[Path]) -> dict[str, Any]:
    """The numbers that the pictures show: medians with their intervals, outliers, rates, ceilings."""
    evaluation, roofline = pictures.evaluation, pictures.roofline
    return {
        "id": evaluation.id,
        "problem": evaluation.problem.name,
        "solution": evaluation.solution.name,
        "files": [str(path) for path in files],
        "operations_per_byte": roofline and roofline.intensity,
        "ceilings": asdict(roofline.roof) if roofline and roofline.roof else None,
        "arms": list(_arms_json(pictures)),
    }


def _roofline(evaluation: Evaluation, samples: SamplesPicture) -> RooflinePicture | None:
    """The reference is held against the problem's precision, as records.roofline has it."""
    work, ceilings, light = evaluation.work, evaluation.ceilings, evaluation.speed_of_light
    if work is None:
        return None
    if ceilings is None or light is None:
        return roofline_picture(samples.arms, work, None, None)
    arithmetic = arithmetic_of(None, evaluation.problem.precision, evaluation.environment.flags, work)
    reference = roof_of(ceilings, work, speed_of_light(work, ceilings, arithmetic))
    return roofline_picture(samples.arms, work, roof_of(ceilings, work, light), reference)


def _arms_json(pictures: Pictures) -> Iterator[dict[str, Any]]:
    points = {point.arm: point for point in pictures.roofline.points} if pictures.roofline else {}
    for arm in pictures.samples.arms:
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


def _drawn(pictures: Pictures) -> Iterator[tuple[str, Canvas]]:
    heading = heading_of(pictures.evaluation, pictures.timing)
    with canvas(heading, samples_inches(pictures.samples)) as on:
        draw_samples(on, pictures.samples)
        yield "samples", on
    if pictures.roofline:
        with canvas(heading, roofline_inches(pictures.roofline)) as on:
            draw_roofline(on, pictures.roofline)
            yield "roofline", on


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
