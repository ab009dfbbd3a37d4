"""`harness leaderboard`: where every solution stands, from the journal alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import harness
from harness import reports
from harness.cli import completion
from harness.cli.options import ResultsFolder
from harness.cli.printing import print_report, write_text
from harness.cli.store import open_store
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.store.entry import Tally
    from harness.store.index import Index


PrecisionClass = Literal["float64", "float32", "tf32", "half"]
LeaderboardFormat = Literal["table", "markdown", "json", "html"]

_BY_ENDING: dict[str, LeaderboardFormat] = {
    ".md": "markdown",
    ".json": "json",
    ".html": "html",
    ".htm": "html",
    ".txt": "table",
}


def leaderboard(
    format: Annotated[
        LeaderboardFormat | None, typer.Option(help="Default: by the ending of --output, else a table.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file instead of stdout.")] = None,
    open: Annotated[bool, typer.Option("--open", help="Show the HTML page in the browser.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw the bars into this .png or .svg.")] = None,
    environment: Annotated[
        str | None, typer.Option(help="Part of an environment's label. Default: the GPU with the most results.")
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            help="A config's name, file or hash. Default: that of the most results.", autocompletion=completion.configs
        ),
    ] = None,
    precision: Annotated[PrecisionClass | None, typer.Option(help="Only this class of precision.")] = None,
    problem: Annotated[
        str,
        typer.Option(
            "-p", "--problem", help="Only problems of this shell pattern.", autocompletion=completion.problems
        ),
    ] = "*",
    results: ResultsFolder = None,
) -> None:
    """Rank the solutions of each problem, from the journal alone; no GPU and no sources are needed.

    Example: harness leaderboard --format html --output leaderboard.html --open
    """
    shape = _format(format, output, open)
    with open_store(results) as index:
        if open and output is None:
            output = index.results / "leaderboard.html"
        tallies = index.tallies()
        if not tallies:
            raise UsageError(f"no results in {index.results} yet: make some with 'harness run', or name --results")
        wanted = reports.Wanted(environment, _config_hash(config, tallies), precision)
        board = reports.make_board(tallies, index.newest(), wanted, _problems(problem, tallies))
        if plot is not None:
            reports.save_leaderboard_plot(board, plot)
            typer.echo(f"wrote {plot}", err=True)
        if shape == "table" and output is None:
            print_report(reports.leaderboard_table(board))
        elif output is None:
            typer.echo(_text(shape, board, index), nl=False)
        else:
            write_text(output, _text(shape, board, index), "--output")
            typer.echo(f"wrote {output}", err=True)
    if open and output is not None:
        import webbrowser

        if not webbrowser.open(output.resolve().as_uri()):
            typer.echo(f"no browser answers: open {output} yourself", err=True)


def _format(wanted: LeaderboardFormat | None, output: Path | None, open: bool) -> LeaderboardFormat:
    by_name = _BY_ENDING.get(output.suffix.lower()) if output else None
    if wanted and by_name not in (None, "table", wanted):
        raise UsageError(f"--format {wanted} and {output}, whose ending says {by_name}: drop one, or name another file")
    if output and output.suffix and not (wanted or by_name):
        known = ", ".join(sorted(_BY_ENDING))
        raise UsageError(f"{output}: nothing is written as {output.suffix}; end it in {known}, or name a --format")
    shape = wanted or by_name or ("html" if open else "table")
    if open and shape != "html":
        raise UsageError(f"--open shows a page: use --format html, not {shape}")
    return shape


def _problems(pattern: str, tallies: list[Tally]) -> list[str]:
    from fnmatch import fnmatchcase

    known = sorted({tally.problem for tally in tallies})
    found = [name for name in known if fnmatchcase(name, pattern)]
    if not found:
        raise UsageError(f"--problem {pattern}: no problem with results fits. There are: {', '.join(known)}")
    return found


def _config_hash(wanted: str | None, tallies: list[Tally]) -> str | None:
    """A hash stays one; a name or a file of the workspace becomes one."""
    if wanted is None or any(tally.config.startswith(wanted) for tally in tallies):
        return wanted
    from harness.store.entry import config_hash

    return config_hash(harness.find_workspace().config(wanted))


def _text(shape: LeaderboardFormat, board: reports.Board, index: Index) -> str:
    if shape == "html":
        return _page(board, index)
    if shape == "markdown":
        return reports.leaderboard_markdown(board)
    if shape == "json":
        return reports.leaderboard_json(board)
    return reports.plain_text(reports.leaderboard_table(board))


def _page(board: reports.Board, index: Index) -> str:
    ids = [standing.entry.id for standing in reports.shown_in_full(board)]
    evaluations = dict(zip(ids, index.evaluations(ids), strict=True))
    return reports.leaderboard_html(
        board,
        evaluations,
        lambda of: reports.measurements(of, index.entries(problem=of.name, environment=of.environment)),
    )
