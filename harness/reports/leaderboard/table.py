"""The board for the terminal: 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.reports.baselines import fastest_table, like_table, over_fastest_of, over_like_of
from harness.reports.console import LIGHT, OWN
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.precision import title_of
from harness.reports.leaderboard.totals import totals
from harness.reports.leaderboard.words import problem_note, source_note, speed_note, total_sentence, unranked_reason
from harness.reports.numbers import format_ms, format_own_share, format_share, format_speedup, light_note
from harness.reports.untrusted import one_line


def leaderboard_table(board: Board) -> RenderableType:
    """Per problem and class the ranked solutions, under them what isn't ranked and why."""
    head = Text.assemble(("leaderboard", "bold"), f" {one_line(board.environment.label)}, config {board.config.key}")
    rule = Text("ranked: newest problem files, passed on all cases, not noisy; ties share ranks", "dim")
    parts: list[RenderableType] = [head, rule]
    for problem in board.problems:
        parts += [Text(), *_problem(problem, board.baseline or "baseline")]
    sums = [Text(total_sentence(total)) for total in totals(board)]
    return Group(*parts, *([Text(), *sums] if sums else []))


def _problem(problem: ProblemBoard, baseline: str) -> Iterator[RenderableType]:
    note = problem_note(problem)
    ranked = [s for s in problem.standings if s.rank is not None]
    for precision_class, group in groupby(ranked, key=lambda s: s.precision_class):
        yield Text.assemble((one_line(problem.name), "bold"), f", {title_of(precision_class)}")
        standings = list(group)
        yield _ranking(standings, baseline)
        if light := light_note([(e.solution, e.share_of_light, e.light_source) for e in (s.entry for s in standings)]):
            yield Text(light, style="dim")
        if fastest := [row for standing in standings if (row := over_fastest_of(standing.entry))]:
            yield Text("over the fastest of several baselines:", style="dim")
            yield fastest_table(fastest)
        if alike := [row for standing in standings if (row := over_like_of(standing.entry))]:
            yield Text("over the reference in the same precision:", style="dim")
            yield like_table(alike)
    if not ranked:
        yield Text.assemble((one_line(problem.name), "bold"), ", nothing ranked")
    if note:
        yield Text(f"  {note}", style="yellow")
    for standing in problem.standings:
        if standing.rank is None:
            yield Padding(
                Text.assemble("not ranked: ", one_line(standing.entry.solution), ": ", unranked_reason(standing)),
                (0, 0, 0, 2),
            )


def _ranking(standings: list[Standing], baseline: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("solution", overflow="fold", min_width=8)
    has_light = any(standing.entry.share_of_light for standing in standings)
    has_own = any(standing.entry.own_share is not None for standing in standings)
    shares = (*((LIGHT,) if has_light else ()), *((OWN,) if has_own else ()))
    for column in ("ms", f"{baseline} ms", "speed-up [95 %]", *shares):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("")
    for standing in standings:
        entry = standing.entry
        name = Text(one_line(entry.solution))
        if note := source_note(standing):
            name.append(f" ({note})", style="dim")
        times = (format_ms(ns) if ns is not None else "—" for ns in (entry.solution_ns, entry.baseline_ns))
        light = [format_share(entry.share_of_light)] if has_light else []
        own = [format_own_share(entry.own_share)] if has_own else []
        speed = Text(speed_note(standing), style="dim")
        table.add_row(str(standing.rank), name, *times, format_speedup(standing.speedup), *light, *own, speed)
    return table
