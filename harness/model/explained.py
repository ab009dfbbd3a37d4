"""All explanations by the word that a user gives."""

from __future__ import annotations

from harness.model.checks_explained import CHECKS
from harness.model.explanation import Explanation
from harness.model.simulator_findings import FINDING_KINDS
from harness.model.verdicts_explained import VERDICTS
from harness.model.words_explained import WORDS


def everything_explained() -> dict[str, Explanation]:
    """Verdicts, then checks, then the words of a timing, then what the simulator finds."""
    verdicts = {verdict.value: explanation for verdict, explanation in VERDICTS.items()}
    findings = {name: kind.explanation for name, kind in FINDING_KINDS.items()}
    return verdicts | {**CHECKS} | WORDS | findings
