"""Evaluations as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from typing import Any

from harness.records.entry import Entry
from harness.records.evaluation import Evaluation
from harness.reports.timing import TIMING_CELLS, arm_numbers, timing_cells
from harness.reports.untrusted import harmless


def to_csv(entries: Iterable[Entry]) -> str:
    """A row per evaluation, a column per field of Entry, and the share of the speed of light; cases are separated by
    spaces, absent values are empty."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [*(field.name for field in fields(Entry)), "share_of_light"], lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        verdicts = {"verdict": entry.verdict.value, "expected_verdict": entry.expected_verdict.value}
        facts = asdict(entry) | verdicts | {"cases": " ".join(entry.cases), "share_of_light": entry.share_of_light}
        writer.writerow({name: _no_formula(value) for name, value in facts.items()})
    return file.getvalue()


def timings_csv(evaluations: Iterable[Evaluation]) -> Iterator[str]:
    """A row per metric and arm of each that was timed, in pieces; the first is the head. Times in ns."""
    names = ("evaluation", "problem", "solution", "case", *(name for name in TIMING_CELLS))
    yield ",".join(names) + "\n"
    for evaluation in evaluations:
        timing = evaluation.timing
        file = io.StringIO()
        writer = csv.DictWriter(file, names, lineterminator="\n")
        for row in arm_numbers(timing) if timing else ():
            facts = (evaluation.id, evaluation.problem.name, evaluation.solution.name, timing.case if timing else None)
            cells = dict(zip(names, facts, strict=False)) | timing_cells(row)
            writer.writerow({name: _no_formula(value) for name, value in cells.items()})
        yield file.getvalue()


def _no_formula(value: Any) -> Any:
    """A name that a spreadsheet would compute gets a quote in front: names are a stranger's words."""
    if not isinstance(value, str):
        return value
    text = harmless(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
