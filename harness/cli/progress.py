"""Progress on stderr: a live table on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from harness.model.evaluation import Evaluation
from harness.referee.job import Job
from harness.reports import format_speedup, one_line, verdict_text
from harness.workspace.selection import Task

if TYPE_CHECKING:
    from harness.run.engine import AnySession

_MOST_RESULTS = 12
_MOST_BUILDS = 4
"""Rows of the live table, whatever the number of evaluations: it is drawn four times a second."""
_BUILDING, _BUILT = "building", "built"


class Progress:
    """Context manager. `observe` may be called from several threads; it only stores a string."""

    def __init__(
        self, quiet: bool, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console or Console(stderr=True, quiet=quiet)
        self._clock = clock
        self._started = clock()
        self._total = 0
        self._problems: set[str] = set()
        self._running: dict[str, str] = {}
        self._latest: deque[Evaluation] = deque(maxlen=_MOST_RESULTS)
        self._counts: Counter[str] = Counter()
        self._live = Live(console=self._console, get_renderable=self.render, transient=True, refresh_per_second=4)
        self._is_live = self._console.is_terminal and not quiet

    def say(self, what: str) -> None:
        """Show what takes long before the first evaluation, or ends all of them."""
        self._console.print(Text(f"… {one_line(what)}", style="dim"), soft_wrap=True)

    def follow(self, session: AnySession, tasks: Sequence[Task]) -> Generator[Evaluation, None, None]:
        """Yield the evaluations of the tasks, which add to those that are expected, and show how far they are."""
        self.expect(tasks)
        with contextlib.closing(session.evaluate(tasks, self.observe)) as evaluations:
            for evaluation in evaluations:
                self.finished(evaluation)
                yield evaluation

    def expect(self, tasks: Sequence[Task]) -> None:
        """Across several problems a solution's name alone says too little."""
        self._total += len(tasks)
        self._problems |= {task.problem.name for task in tasks}

    def observe(self, job: Job, what: str) -> None:
        name = self._name(job.problem.name, job.solution.name)
        what = one_line(what)
        before, self._running[name] = self._running.get(name, ""), what
        if not self._is_live and _step(what) != _step(before):
            shown = what if _step(what) == "waiting" else _step(what)
            self._console.print(Text(f"{self._elapsed():7.1f} s  {name}: {shown}"), soft_wrap=True)

    def finished(self, evaluation: Evaluation) -> None:
        name = self._name(evaluation.problem.name, evaluation.solution.name)
        self._running.pop(name, None)
        self._latest.append(evaluation)
        self._counts[evaluation.verdict.value] += 1
        if not self._is_live:
            place = f"{sum(self._counts.values())}/{self._total}  " if self._total > 1 else ""
            line = Text.assemble(f"{self._elapsed():7.1f} s  ", place, name, ": ", verdict_text(evaluation.verdict))
            self._console.print(line, soft_wrap=True)

    def __enter__(self) -> Progress:
        if self._is_live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_live:
            self._live.stop()

    def render(self) -> RenderableType:
        """The latest results, what is under way, and how far all of it is."""
        running = self._running.copy()
        building = sorted(name for name, what in running.items() if _step(what) == _BUILDING)
        waiting = sum(_step(what) == _BUILT for what in running.values())
        rows = Table.grid(padding=(0, 1))
        for name, what in sorted(running.items()):
            if _step(what) not in (_BUILDING, _BUILT):
                rows.add_row(Spinner("dots"), Text(name, style="bold"), Text(what))
        for name in building[:_MOST_BUILDS]:
            rows.add_row(Spinner("dots"), Text(name), Text(_BUILDING, style="dim"))
        more = [f"{len(building) - _MOST_BUILDS} more building"] if len(building) > _MOST_BUILDS else []
        more += [f"{waiting} built, waiting for their turn"] if waiting else []
        parts: list[RenderableType] = [self._results(), rows]
        parts += [Text("  " + ", ".join(more), style="dim")] if more else []
        return Group(*parts, self._summary()) if self._total else Group(*parts)

    def _results(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for evaluation in self._latest.copy():
            name = Text(self._name(evaluation.problem.name, evaluation.solution.name))
            speedup = format_speedup(evaluation.timing.speedup) if evaluation.timing else ""
            table.add_row(name, verdict_text(evaluation.verdict), Text(speedup))
        return table

    def _summary(self) -> Text:
        done = sum(self._counts.values())
        parts = [f"{done} of {self._total} done"]
        parts += [f"{count} {verdict}" for verdict, count in self._counts.most_common()]
        if done and done < self._total:
            parts.append(f"about {_duration(self._elapsed() / done * (self._total - done))} left")
        return Text(", ".join(parts), style="bold")

    def _elapsed(self) -> float:
        return self._clock() - self._started

    def _name(self, problem: str, solution: str) -> str:
        return one_line(f"{problem}/{solution}" if len(self._problems) > 1 else solution)


def _step(what: str) -> str:
    """The first word: 'checking small 1/3' and what follows it are one line where lines stay."""
    return what.partition(" ")[0]


def _duration(seconds: float) -> str:
    """'40 s', '12 min', '3.5 h'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
