"""Explanations of verdicts, checks, the words of a timing and the simulator's findings, from explanations.yaml."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from harness.errors import UsageError
from harness.model.simulator_findings import FINDING_KINDS, FindingKind
from harness.model.verdict import Verdict
from harness.reports.blocks import Block, Column, Line, Section, Span, Table
from harness.reports.terminal import Report, reporting
from harness.suggest import did_you_mean

_TEXTS = Path(__file__).with_name("explanations.yaml")
_MORE = "'harness explain NAME' says more of one; docs/referee.md, docs/timing.md and docs/simulator_faults.md of all."
_BUILDS = {"both": "both of its builds", "checked": "its checked build (--sanitize)"}


@dataclass(frozen=True)
class Explanation:
    """Sentences without their full stop. `look` names fields of the record, as `harness show --json` prints them."""

    meaning: str
    observed: str
    """The way in which the referee learns it, and the source."""
    causes: str
    """The usual causes."""
    avoid: str
    """The advice to an honest author."""
    look: str


@functools.cache
def explanations() -> dict[str, dict[str, Explanation]]:
    """Every explanation by its word, under the kind of word that it is: verdict, check, timing, simulator."""
    kinds = yaml.safe_load(_TEXTS.read_text(encoding="utf-8"))
    for name, texts in kinds["verdict"].items():
        texts["meaning"] = Verdict(name).meaning
    read = {kind: {name: Explanation(**texts) for name, texts in words.items()} for kind, words in kinds.items()}
    return {**read, "simulator": {name: _of_finding(kind) for name, kind in FINDING_KINDS.items()}}


def everything_explained() -> dict[str, Explanation]:
    """Verdicts, then checks, then the words of a timing, then what the simulator finds."""
    return {name: explanation for words in explanations().values() for name, explanation in words.items()}


def explanation_of(word: str) -> tuple[str, Explanation]:
    """Look a word up, in whatever case it is written. Raises: UsageError, with a suggestion."""
    known, name = everything_explained(), word.lower()
    if name not in known:
        hint = did_you_mean(name, known, " 'harness explain' lists them.")
        raise UsageError(f"no verdict, check, word of a timing or finding is '{name}'.{hint}")
    return name, known[name]


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


@reporting
def all_explained() -> Iterator[Block]:
    for kind, words in explanations().items():
        yield Table((Column(kind), Column("meaning")), [(name, one.meaning) for name, one in words.items()])
        yield Line("")
    yield Line(_MORE, "faint")


def _of_finding(kind: FindingKind) -> Explanation:
    leads_to = f"leads to {kind.verdict}" if kind.verdict else "is a remark, which leads to no verdict"
    return Explanation(
        kind.meaning,
        f"on the simulator, in {_BUILDS[kind.build]}; it {leads_to}",
        kind.causes,
        kind.next_step,
        "failure.reason, failure.details (the line, and what else was seen); remarks",
    )
