"""The stage that decided, as `harness show` says it."""

from __future__ import annotations

from harness.model.evaluation import Evaluation
from harness.reports.evaluation import show_report
from tests.examples import failed
from tests.reports.printed import printed


def shown(evaluation: Evaluation) -> str:
    return "\n".join(printed(show_report(evaluation, ()), width=120))


def test_the_stage_that_decided_is_shown_where_it_is_known() -> None:
    assert "the simulator" in shown(failed(decided_by="simulator"))
    assert "decided by" not in shown(failed())
