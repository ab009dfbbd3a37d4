"""Texts for a language model: its task, and how its last attempt did."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.model.evaluation import Evaluation
from harness.reports.bare_files import by_its_files
from harness.reports.markdown import fenced
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import harmless, one_line, shortened


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
    return _written("task.md.jinja", **what, description=description, backward=backward, state=state)


def feedback_text(evaluation: Evaluation) -> str:
    """Verdict, what failed and what to do next, what the compiler said, times, and the source that was judged."""
    named = functools.partial(by_its_files, evaluation)
    return _written("feedback.md.jinja", evaluation=evaluation, named=named).rstrip("\n") + "\n"


def _written(template: str, **facts: Any) -> str:
    return _environment().get_template(template).render(facts)


@functools.cache
def _environment() -> Environment:
    """Templates in which nothing is escaped: what a stranger wrote passes one of the filters."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("texts")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = (harmless, one_line, shortened, fenced)
    environment.filters |= {"speedup": format_speedup, **{one.__name__: one for one in filters}}
    return environment
