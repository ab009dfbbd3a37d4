"""Classes of arithmetic that are ranked apart: fewer bits are faster, and no merit of the kernel."""

from __future__ import annotations

from typing import Literal, get_args

from harness.records.entry import Entry

PrecisionClass = Literal["float64", "float32", "tf32", "half"]

PRECISION_CLASSES: tuple[PrecisionClass, ...] = get_args(PrecisionClass)

_CLASSES: dict[str, PrecisionClass] = {
    "float64": "float64",
    "float32": "float32",
    "tf32": "tf32",
    "float16": "half",
    "bfloat16": "half",
}

_TITLES: dict[PrecisionClass, str] = {
    "float64": "float64",
    "float32": "strict float32",
    "tf32": "tf32",
    "half": "half (float16, bfloat16)",
}


def class_of(entry: Entry) -> PrecisionClass:
    """What the solution declares that it computes in; the problem's precision where it declares nothing.

    A word that this version doesn't know counts as half: the class in which it can wrong nobody.
    """
    return _CLASSES.get(entry.solution_precision or entry.problem_precision, "half")


def title_of(precision_class: PrecisionClass) -> str:
    """For headings: 'strict float32'."""
    return _TITLES[precision_class]
