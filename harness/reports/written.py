"""Texts of several sentences, from the templates in texts/."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from harness.model.plural import several
from harness.reports.markdown import fenced
from harness.reports.numbers import format_speedup
from harness.reports.untrusted import harmless, one_line, shortened


def written(template: str, **facts: Any) -> str:
    """Fill a template. Nothing is escaped in it: what a stranger wrote passes one of the filters."""
    return _environment().get_template(template).render(facts)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("texts")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = (harmless, one_line, shortened, fenced, several)
    environment.filters |= {"speedup": format_speedup, **{one.__name__: one for one in filters}}
    return environment
