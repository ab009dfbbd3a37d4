"""What verdicts, checks, the words of a timing and the simulator's findings mean."""

from __future__ import annotations

from collections.abc import Iterable

from harness.model.checks_explained import CHECKS
from harness.model.explanation import Explanation
from harness.model.simulator_findings import FINDING_KINDS
from harness.model.verdicts_explained import VERDICTS
from harness.model.words_explained import WORDS
from harness.reports.blocks import Block, Column, Line, Report, Section, Span, Table

_MORE = "'harness explain NAME' says more of one; docs/referee.md, docs/timing.md and docs/simulator_faults.md of all."


def explained(name: str, explanation: Explanation) -> Report:
    sections = [
        Section(Span(title, "faint"), [Line(f"{text}.")])
        for title, text in (
            ("how it is seen", explanation.observed),
            ("what causes it", explanation.causes),
            ("what to do", explanation.avoid),
            ("in the record", explanation.look),
        )
    ]
    return Report([Line((Span(name, "strong"), f": {explanation.meaning}.")), *sections])


def all_explained() -> Report:
    kinds: tuple[tuple[str, Iterable[tuple[str, str]]], ...] = (
        ("verdict", ((verdict.value, explanation.meaning) for verdict, explanation in VERDICTS.items())),
        ("check", ((name, explanation.meaning) for name, explanation in CHECKS.items())),
        ("timing", ((name, explanation.meaning) for name, explanation in WORDS.items())),
        ("simulator", ((name, kind.meaning) for name, kind in FINDING_KINDS.items())),
    )
    blocks: list[Block] = []
    for kind, rows in kinds:
        blocks += [Table((Column(kind), Column("meaning")), list(rows)), Line("")]
    return Report([*blocks, Line(_MORE, "faint")])
