"""Errors against the tolerance, case by case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from harness.records.check import Check
from harness.records.evaluation import Evaluation
from harness.reports.numbers import format_error, scopes_and_variants
from harness.reports.untrusted import one_line


@dataclass(frozen=True)
class CaseView:
    """One case in one scope, over its seeds."""

    case: str
    scope: str
    calls: int
    shape: str
    error: str
    absolute: str
    relative: str
    tolerance: str
    mismatches: str
    passed: bool
    examples: tuple[tuple[str, str], ...]
    """Places that differ, with what was got and wanted."""


def case_views(checks: Iterable[Check]) -> Iterable[CaseView]:
    """A view for each case and scope, full first."""
    in_order = sorted(checks, key=lambda c: (c.case != "full", c.case, c.scope))
    for (case, _), group in groupby(in_order, key=lambda c: (c.case, c.scope)):
        yield _case(case, tuple(group))


def _case(case: str, checks: tuple[Check, ...]) -> CaseView:
    """Errors and tolerances in numbers are of the inputs as get_inputs() draws them: a variant's follow its size."""
    outputs = [output for check in checks for output in check.outputs]
    plain = [output for check in checks if check.variant is None for output in check.outputs] or outputs
    shapes = dict.fromkeys(f"{'×'.join(map(str, o.shape)) or 'scalar'} {one_line(o.dtype)}" for o in outputs)
    tolerances = dict.fromkeys(
        "exact" if o.tolerance.is_exact else f"{o.tolerance.atol:g} + {o.tolerance.rtol:g}·|want|" for o in plain
    )
    compared, wrong = sum(o.compared for o in outputs), sum(o.mismatches for o in outputs)
    differing = [m for o in outputs for m in o.first_mismatches][:5]
    return CaseView(
        case=one_line(case),
        scope=scopes_and_variants(checks),
        calls=len(checks),
        shape=", ".join(shapes),
        error=format_error(checks),
        absolute=f"{max((o.max_abs_error for o in plain), default=0.0):.2g}",
        relative=f"{max((o.max_rel_error for o in plain), default=0.0):.2g}",
        tolerance=", ".join(tolerances),
        mismatches=f"{wrong:,} of {compared:,}",
        passed=all(check.passed for check in checks),
        examples=tuple((str(list(m.index)), f"got {m.got:.7g}, want {m.want:.7g}") for m in differing),
    )


def errors_by_case(evaluation: Evaluation) -> dict[str, tuple[str, bool]]:
    """Of each case that was judged the error as a multiple of the tolerance, or the verdict that ended it; and whether
    it passed."""
    found = {}
    for case in dict.fromkeys(check.case for check in evaluation.checks):
        checks = tuple(check for check in evaluation.checks if check.case == case)
        found[case] = (format_error(checks), all(check.passed for check in checks))
    if evaluation.failure and evaluation.failure.case and found.get(evaluation.failure.case, ("", True))[1]:
        found[evaluation.failure.case] = (evaluation.verdict.value, False)
    return found
