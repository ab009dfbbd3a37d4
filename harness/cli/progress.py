"""What is happening, on stderr: a live list on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from harness.records.evaluation import Evaluation
from harness.referee.evaluation import Job
from harness.reports.console import verdict_text


class Progress:
    """Context manager. `observe` may be called from several threads; it only stores a string."""

    def __init__(self, quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self._started = time.monotonic()
        self._running: dict[str, str] = {}
        self._live = Live(console=self._console, get_renderable=self._render, transient=True, refresh_per_second=8)
        self._is_live = self._console.is_terminal and not quiet

    def say(self, what: str) -> None:
        """Something that takes long before the first evaluation."""
        self._console.print(Text(f"… {what}", style="dim"))

    def observe(self, job: Job, what: str) -> None:
        name = job.solution.name
        before, self._running[name] = self._running.get(name, ""), what
        if not self._is_live and _step(what) != _step(before):
            self._console.print(Text(f"{time.monotonic() - self._started:7.1f} s  {name}: {_step(what)}"))

    def finished(self, evaluation: Evaluation) -> None:
        name = evaluation.solution.name
        self._running.pop(name, None)
        seconds = f"{time.monotonic() - self._started:7.1f} s  "
        self._console.print(Text.assemble(seconds, name, ": ", verdict_text(evaluation.verdict)))

    def __enter__(self) -> Progress:
        if self._is_live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._is_live:
            self._live.stop()

    def _render(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for name, what in sorted(self._running.copy().items()):
            table.add_row(Spinner("dots"), Text(name, style="bold"), Text(what))
        return table


def _step(what: str) -> str:
    """The first word: 'checking small 1/3' and what follows it are one line where lines stay."""
    return what.partition(" ")[0]
