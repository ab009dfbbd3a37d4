"""Texts for a language model: its task, and how its last attempt did."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from harness.model.evaluation import Evaluation
from harness.reports.bare_files import by_its_files
from harness.reports.written import written


def prompt_text(
    title: str,
    source: str,
    precision: str | None,
    cases: Mapping[str, Mapping[str, Any]],
    description: str = "",
    backward: bool = False,
    state: Sequence[str] = (),
) -> str:
    """`source` is the reference's; `cases` are the problem's, with what each changes of it. `backward`: a call is a
    training step. `state`: the arguments that it changes for later calls."""
    what = {"title": title, "source": source, "precision": precision, "cases": cases}
    return written("task.md.jinja", **what, description=description, backward=backward, state=state)


def feedback_text(evaluation: Evaluation) -> str:
    """Verdict, what failed and what to do next, what the compiler said, times, and the source that was judged."""
    named = functools.partial(by_its_files, evaluation)
    return written("feedback.md.jinja", evaluation=evaluation, named=named).rstrip("\n") + "\n"
