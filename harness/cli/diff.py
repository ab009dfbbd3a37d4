"""`harness diff`: what differs between two evaluations."""

from __future__ import annotations

from harness.cli.options import EvaluationId, JsonFlag, ResultsFolder
from harness.cli.printing import print_json, print_report
from harness.cli.store import open_store


def diff(
    first: EvaluationId,
    second: EvaluationId,
    json: JsonFlag = False,
    results: ResultsFolder = None,
) -> None:
    """Compare two evaluations: verdicts, speed with its interval, config, environment, source.

    Example: harness diff 20261121T0434 last
    """
    from harness.reports import Difference, difference_json, difference_report

    with open_store(results) as index:
        found = Difference(index.evaluation(first), index.evaluation(second))
    if json:
        print_json(difference_json(found), indent=2)
    else:
        print_report(difference_report(found))
