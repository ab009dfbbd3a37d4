"""All explanations by the word that a user gives."""

from __future__ import annotations

from harness.records.checks_explained import CHECKS
from harness.records.explanation import Explanation
from harness.records.simulator_findings import FINDING_KINDS
from harness.records.verdicts_explained import VERDICTS
from harness.records.words_explained import WORDS


def everything_explained() -> dict[str, Explanation]:
    """Verdicts, then checks, then the words of a timing, then what the simulator finds."""
    verdicts = {verdict.value: explanation for verdict, explanation in VERDICTS.items()}
    findings = {name: kind.explanation for name, kind in FINDING_KINDS.items()}
    return verdicts | {**CHECKS} | WORDS | findings
