"""`harness score`: KernelBench's scores of the verdicts in the journal."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.options import ResultsFolder
from harness.cli.printing import print_json, print_report, write_text
from harness.cli.store import chosen_entries, open_store
from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.model.evaluation import Evaluation
    from harness.store.index import Index


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
    from harness.reports import kernelbench_files, score_json, scores_table

    ks = sorted(set(k or [1]))
    with open_store(results) as index:
        fields = fields_of(_newest(index), _problem_names())
    if not fields:
        raise UsageError("no evaluation of a problem named level<L>_<number>…: see 'harness import kernelbench'")
    if export is not None:
        for path, content in kernelbench_files(fields, ks):
            write_text(export / path, json_module.dumps(content, indent=4) + "\n", "--export", with_folder=True)
        typer.echo(f"wrote {export}", err=True)
    scores = [score_run(field, run, ks) for field in fields for run in field.runs]
    if json:
        for one in scores:
            print_json(score_json(one))
    else:
        print_report(scores_table(scores))


def _newest(index: Index) -> list[Evaluation]:
    """The newest evaluation of each solution on each GPU."""
    found = {
        (entry.problem, entry.solution, entry.environment_label if entry.backend == "cuda" else None): entry.id
        for entry in chosen_entries(index, None, None)
    }
    evaluations = sorted(index.evaluations(list(found.values())), key=lambda one: one.started_at)
    return list({(one.problem.name, one.solution.name, one.environment.gpu): one for one in evaluations}.values())


def _problem_names() -> list[str]:
    """The workspace's, where there is one: those that nobody tried count as well."""
    from harness.workspace.workspace import find_workspace

    try:
        return find_workspace(Path.cwd()).problem_names()
    except UsageError:
        return []
