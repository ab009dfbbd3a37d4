"""A record without the solution's texts: for publishing results of solutions that others wrote."""

from __future__ import annotations

from dataclasses import replace

from harness.model.build import ExtensionBuild
from harness.model.evaluation import Evaluation

WITHHELD = "(withheld)"


def without_source(evaluation: Evaluation) -> Evaluation:
    """The record without the solution's files and explanation, and without what quotes them: compilers' output and a
    failure's details. Hashes, verdict, reason and numbers stay."""
    failure = evaluation.failure
    return replace(
        evaluation,
        solution=replace(evaluation.solution, files={}, explanation=""),
        builds=tuple(map(_without_output, evaluation.builds)),
        failure=failure and replace(failure, details=None),
    )


def _without_output(build: ExtensionBuild) -> ExtensionBuild:
    nvcc = build.nvcc and replace(build.nvcc, words=WITHHELD if build.nvcc.words else "", output="")
    return replace(build, output="", nvcc=nvcc)
