"""The board as Markdown, for a repository's pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from harness.reports.baselines import OverBaseline, over_fastest_of, over_like_of
from harness.reports.leaderboard.board import Board, ProblemBoard, Standing
from harness.reports.leaderboard.precision import title_of
from harness.reports.leaderboard.totals import totals
from harness.reports.leaderboard.words import (
    problem_note,
    rules,
    source_note,
    speed_note,
    total_sentence,
    unranked_reason,
)
from harness.reports.numbers import format_ms, format_own_share, format_share, format_speedup
from harness.reports.untrusted import one_line


def leaderboard_markdown(board: Board) -> str:
    """A whole document, ending in a newline."""
    lines = ["# Leaderboard", "", f"{code(board.environment.label)}, config `{board.config.key}`", ""]
    lines += [f"- {total_sentence(total)}" for total in totals(board)]
    for problem in board.problems:
        lines += ["", *_problem(problem, board.baseline or "baseline")]
    lines += ["", "## Rules", "", *(f"- {_plain(rule)}" for rule in rules(board))]
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """A stranger's text as a code span that no character of it ends, also inside a table."""
    return f"`{one_line(text).replace('`', 'ˋ').replace('|', '¦') or ' '}`"


def _problem(problem: ProblemBoard, baseline: str) -> Iterator[str]:
    yield f"## {code(problem.name)}"
    ranked = [s for s in problem.standings if s.rank is not None]
    for precision_class, group in groupby(ranked, key=lambda s: s.precision_class):
        yield from ("", f"### {title_of(precision_class)}", "")
        standings = list(group)
        yield from _ranking(standings, baseline)
        if fastest := [row for standing in standings if (row := over_fastest_of(standing.entry))]:
            yield from ("", "Over the fastest of several baselines:", "")
            yield from _table_over(fastest, "fastest baseline")
        if alike := [row for standing in standings if (row := over_like_of(standing.entry))]:
            yield from ("", "Over the reference in the same precision:", "")
            yield from _table_over(alike, "in its precision")
    unranked = [s for s in problem.standings if s.rank is None]
    if unranked:
        yield from ("", "Not ranked:", "")
        yield from (f"- {code(s.entry.solution)}: {_plain(unranked_reason(s))}" for s in unranked)
    if note := problem_note(problem):
        yield from ("", note)


def _ranking(standings: list[Standing], baseline: str) -> Iterator[str]:
    has_light = any(standing.entry.share_of_light for standing in standings)
    has_own = any(standing.entry.own_share is not None for standing in standings)
    shares = (" speed of light |" if has_light else "") + (" own kernels |" if has_own else "")
    yield f"| rank | solution | ms | {baseline} ms | speed-up [95 %] | speed |{shares}"
    yield f"|---:|---|---:|---:|---:|---|{'---:|' * (has_light + has_own)}"
    for standing in standings:
        share = format_share(standing.entry.share_of_light, standing.entry.light_source)
        light = f" {share} |" if has_light else ""
        yield _row(standing) + light + (f" {format_own_share(standing.entry.own_share)} |" if has_own else "")


def _row(standing: Standing) -> str:
    entry, note = standing.entry, source_note(standing)
    name = code(entry.solution) + (f" ({note})" if note else "")
    times = [format_ms(ns) if ns is not None else "—" for ns in (entry.solution_ns, entry.baseline_ns)]
    cells = (str(standing.rank), name, *times, format_speedup(standing.speedup), speed_note(standing))
    return f"| {' | '.join(cells)} |"


def _table_over(rows: Sequence[OverBaseline], head: str) -> Iterator[str]:
    yield f"| solution | {head} | its ms | speed-up over it [95 %] |"
    yield "|---|---|---:|---:|"
    yield from map(_row_over, rows)


def _row_over(row: OverBaseline) -> str:
    return f"| {code(row.solution)} | {row.named} | {format_ms(row.time_ns)} | {format_speedup(row.speedup)} |"


def _plain(text: str) -> str:
    """Names inside our sentences can't become tags, links or mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("[", "&#91;").replace("@", "&#64;")
