"""Reports as a terminal shows them."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console


def printed(report: Any, width: int = 80) -> list[str]:
    """Its lines, without the blanks at their ends."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(report)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def words(report: Any, width: int = 80) -> str:
    """All of it in one line, with single blanks."""
    return " ".join(" ".join(printed(report, width)).split())
