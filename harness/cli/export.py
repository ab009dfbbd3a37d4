"""`harness export` and `harness score`: evaluations in the formats of others, and by their scores."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

import harness
from harness import reports
from harness.cli import completion
from harness.cli.options import ResultsFolder, RunName
from harness.cli.printing import print_json, print_report, say, write_text
from harness.cli.store import chosen_entries, open_store
from harness.errors import MachineError, UsageError, refused

if TYPE_CHECKING:
    from harness.store.entry import Entry
    from harness.store.index import Index


def export(
    csv: Annotated[bool, typer.Option("--csv", help="A row per evaluation, without samples.")] = False,
    timings: Annotated[bool, typer.Option("--timings", help="CSV with a row per metric and arm.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Whole records, one per line.")] = False,
    kernelbench: Annotated[bool, typer.Option("--kernelbench", help="KernelBench's eval_results.json.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file instead of stdout.")] = None,
    problem: Annotated[
        str | None,
        typer.Option("-p", "--problem", help="Only this problem.", autocompletion=completion.problems),
    ] = None,
    solution: Annotated[
        str | None,
        typer.Option("-s", "--solution", help="Only this solution.", autocompletion=completion.solutions),
    ] = None,
    run: RunName = None,
    results: ResultsFolder = None,
) -> None:
    """Write evaluations for other tools: --csv, --timings, --jsonl or --kernelbench.

    Example: harness export --kernelbench --output eval_results.json
    """
    if csv + timings + jsonl + kernelbench != 1:
        raise UsageError("name one format: --csv, --timings, --jsonl or --kernelbench")
    from harness.store.line import to_line

    with open_store(results) as index:
        entries = chosen_entries(index, problem, solution, run=run)
        if csv:
            pieces = iter([reports.to_csv(entries)])
        elif timings:
            timed = (entry.id for entry in entries if entry.solution_ns is not None)
            pieces = reports.timings_csv(index.evaluations(timed))
        elif jsonl:
            pieces = (f"{to_line(one)}\n" for one in index.evaluations(entry.id for entry in entries))
        else:
            pieces = _kernelbench(index, entries)
        first = next(pieces)  # what can't be exported says so before a file is overwritten
        with _opened(output) as file:
            file.write(first)
            file.writelines(pieces)
    if output is not None:
        say(f"wrote {output}")


@contextmanager
def _opened(output: Path | None) -> Iterator[IO[str]]:
    if output is None:
        yield typer.get_text_stream("stdout")
        return
    advice = "choose another --output"
    with refused(MachineError, f"can't write {output}", advice), output.open("w", encoding="utf-8") as file:
        yield file


def _kernelbench(index: Index, entries: Sequence[Entry]) -> Iterator[str]:
    """The newest evaluation of each solution."""
    newest = {(entry.problem, entry.solution): entry.id for entry in entries}
    evaluations = list(index.evaluations(newest.values()))
    found = reports.to_kernelbench(evaluations)
    if left_out := len(evaluations) - sum(map(len, found.values())):
        say(f"{left_out} left out that couldn't be judged (unsupported, invalid_problem, harness_error)")
    yield json_module.dumps(found, indent=4) + "\n"


def score(
    k: Annotated[list[int] | None, typer.Option("-k", min=1, help="A k of pass@k; repeatable. Default: 1.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One score a line.")] = False,
    export: Annotated[
        Path | None, typer.Option(help="A new folder for the files that KernelBench's scripts read.")
    ] = None,
    results: ResultsFolder = None,
) -> None:
    """Score runs as KernelBench does: fast_p, geometric mean and pass@k, per GPU, level and run.

    Example: harness score -k 1 -k 5 --export scored
    """
    from harness.model.kernelbench import fields_of
    from harness.model.kernelbench import score as score_run

    ks = sorted(set(k or [1]))
    with open_store(results) as index:
        fields = fields_of(_newest(index), _problem_names())
    if not fields:
        raise UsageError("no evaluation of a problem named level<L>_<number>…: see 'harness import kernelbench'")
    if export is not None:
        for path, content in reports.kernelbench_files(fields, ks):
            write_text(export / path, json_module.dumps(content, indent=4) + "\n", "--export", with_folder=True)
        typer.echo(f"wrote {export}", err=True)
    scores = [score_run(field, run, ks) for field in fields for run in field.runs]
    if json:
        for one in scores:
            print_json(reports.score_json(one))
    else:
        print_report(reports.scores_table(scores))


def _newest(index: Index) -> list[harness.Evaluation]:
    """The newest evaluation of each solution on each GPU."""
    found = {
        (entry.problem, entry.solution, entry.environment_label if entry.backend == "cuda" else None): entry.id
        for entry in chosen_entries(index, None, None)
    }
    evaluations = sorted(index.evaluations(found.values()), key=lambda one: one.started_at)
    return list({(one.problem.name, one.solution.name, one.environment.gpu): one for one in evaluations}.values())


def _problem_names() -> list[str]:
    """The workspace's, where there is one: those that nobody tried count as well."""
    try:
        return harness.find_workspace().problem_names()
    except UsageError:
        return []
