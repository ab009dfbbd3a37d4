"""The findings of judging a problem, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from harness.model.plural import several
from harness.model.problem_check import Draw, MutantResult, ProblemCheck
from harness.model.record import as_json
from harness.reports.blocks import Block, Column, Line, Section, Span, Table, Tone, number
from harness.reports.numbers import derived_words, light_words, work_words
from harness.reports.terminal import reporting

_FEW = 2
"""The most labels in a cell of the table; further ones are a number."""


def problem_check_json(check: ProblemCheck) -> dict[str, Any]:
    """The record, with its conclusions."""
    conclusions = {"is_sound": check.is_sound, "let_pass": [_name(mutant, check) for mutant in check.let_pass]}
    return {**as_json(check), **conclusions}


@reporting
def problem_check_report(check: ProblemCheck, verbose: bool) -> Iterator[Block]:
    """`verbose`: every draw of inputs with its tolerance, and which of them miss a mutant."""
    yield Line((Span(check.problem, "strong"), " ", _conclusion(check)))
    yield Line(f"{_counted(check)}, on {check.device}, seed {check.seed}", "faint")
    if check.mutants:
        yield _mutants(check, verbose)
    if verbose and check.draws:
        yield Section("inputs", [_draws(check.draws)])
    yield from map(Line, _reference(check))
    yield from (Line(derived_words(one)) for one in (check.derived if verbose else check.derived[:1]))
    yield from map(Line, _work(check, verbose))
    for name, why in check.skipped.items():
        yield Line(f"not examined: {name}: {why}", "faint")
    for remark in check.remarks:
        yield Line(f"remark: {remark}", "faint")
    for complaint in check.complaints:
        yield Line(complaint, "bad")
    for mutant in check.let_pass:
        title = (
            Span("let pass: ", "bad"),
            Span(_name(mutant, check), "strong"),
            Span(f": a kernel that {mutant.what}"),
        )
        yield Section(title, [Line((Span("next: ", "strong"), mutant.advice or ""))])


def _conclusion(check: ProblemCheck) -> Span:
    if not check.let_pass and check.complaints:
        return Span("can't judge as it is", "bad")
    if not check.was_examined:
        return Span("not examined", "unsure")
    return Span("lets none pass", "good") if check.is_sound else Span("lets wrong answers pass", "bad")


def _counted(check: ProblemCheck) -> str:
    cases = several(len({draw.case for draw in check.draws}), "case")
    variants = list(dict.fromkeys(draw.variant for draw in check.draws if draw.variant))
    among = f"; also {', '.join(variants)}" if variants else ""
    draws = several(len(check.draws), "draw")
    return f"{several(len(check.mutants), 'mutant')}, {cases}, {draws} of inputs{among}"


def _mutants(check: ProblemCheck, verbose: bool) -> Table:
    """A row for each: how many draws catch it, how far outside the tolerance it is at best, which draws miss it."""
    rows = []
    for mutant in check.mutants:
        tone: Tone = "bad" if mutant.is_let_pass else "faint" if mutant.harmless else "plain"
        caught = f"{len(mutant.caught_by)} of {len(mutant.trials)}"
        missed = mutant.harmless or _labels(mutant.missed_by, verbose)
        rows.append([Span(cell, tone) for cell in (_name(mutant, check), caught, _multiple(mutant.worst), missed)])
    columns = (Column("mutant"), number("caught by"), number("error/tol"), Column("missed by"))
    return Table(columns, rows)


def _draws(draws: Sequence[Draw]) -> Table:
    rows = []
    for draw in draws:
        sizes = ", ".join(f"{rms:.3g}" for rms in draw.rms)
        held = ", ".join(map(str, draw.tolerances))
        part = f"{draw.examined} of {draw.rows}" if draw.examined is not None else "all"
        rows.append((draw.case, draw.variant or "—", sizes, held, _multiple(draw.reference_worst), part))
    heads = ("size of outputs", "tolerance", "reference/tol", "examined")
    return Table((Column("case"), Column("variant"), *(number(head, wraps=True) for head in heads)), rows)


def _reference(check: ProblemCheck) -> Iterator[str]:
    """Say whether it agrees with itself."""
    if not check.draws:
        return
    worst = max(check.draws, key=lambda draw: draw.reference_worst)
    shaky = [draw.label for draw in check.draws if not draw.repeats]
    twice = f"differs between two runs in {_labels(shaky, False)}" if shaky else "gives the same twice"
    yield (
        f"the reference {twice}; against float64 its largest error is {_multiple(worst.reference_worst)} of the "
        f"tolerance ({worst.label})"
    )


def _work(check: ProblemCheck, verbose: bool) -> Iterator[str]:
    """The work of the case that moves most, or of all cases."""
    largest_first = sorted(check.works, key=lambda case: -check.works[case].least_bytes)
    for case in largest_first if verbose else largest_first[:1]:
        light = f"; at the device's ceilings {light_words(check.lights[case])}" if case in check.lights else ""
        yield f"a call of {case} has {work_words(check.works[case])}{light}"


def _labels(labels: Sequence[str], verbose: bool) -> str:
    if verbose or len(labels) <= _FEW:
        return "; ".join(labels)
    return f"{'; '.join(labels[:_FEW])} and {len(labels) - _FEW} more"


def _name(mutant: MutantResult, check: ProblemCheck) -> str:
    several = len({one.output for one in check.mutants}) > 1
    return f"{mutant.name}, output {mutant.output}" if several else mutant.name


def _multiple(worst: float | None) -> str:
    if worst is None:
        return "—"
    if math.isinf(worst):
        return "wrong"
    return "0" if worst == 0 else f"{worst:.2g}" if worst < 100 else f"{worst:.1e}"
