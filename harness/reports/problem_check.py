"""What judging a problem found, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.records.problem_check import Draw, MutantResult, ProblemCheck
from harness.records.record import as_json
from harness.reports.numbers import derived_words
from harness.reports.roofline import light_words, work_words
from harness.reports.untrusted import one_line

_FEW = 2
"""So many labels stand in a cell of the table; more are a number."""


def problem_check_json(check: ProblemCheck) -> dict[str, Any]:
    """The record, with its conclusions."""
    conclusions = {"is_sound": check.is_sound, "let_pass": [_name(mutant, check) for mutant in check.let_pass]}
    record: dict[str, Any] = as_json(check)
    return {**record, **conclusions}


def problem_check_report(check: ProblemCheck, verbose: bool) -> RenderableType:
    """`verbose`: every draw of inputs with its tolerance, and which of them miss a mutant."""
    return Group(*_parts(check, verbose))


def _parts(check: ProblemCheck, verbose: bool) -> Iterator[RenderableType]:
    yield _heading(check)
    yield Text(f"{_counted(check)}, on {one_line(check.device)}, seed {check.seed}", style="dim")
    if check.mutants:
        yield _mutants(check, verbose)
    if verbose and check.draws:
        yield _draws(check.draws)
    yield from (_line(sentence) for sentence in _reference(check))
    yield from (_line(derived_words(one)) for one in (check.derived if verbose else check.derived[:1]))
    yield from (_line(sentence) for sentence in _work(check, verbose))
    for name, why in check.skipped.items():
        yield _line(f"not examined: {name}: {why}", "dim")
    for remark in check.remarks:
        yield _line(f"remark: {remark}", "dim")
    for complaint in check.complaints:
        yield _line(complaint, "red")
    for mutant in check.let_pass:
        yield Text.assemble(("let pass: ", "red"), (_name(mutant, check), "bold"), f": a kernel that {mutant.what}")
        yield Padding(Text.assemble(("next: ", "bold"), one_line(mutant.advice or "")), (0, 0, 0, 2))


def _heading(check: ProblemCheck) -> Text:
    words = ("lets none pass", "green") if check.is_sound else ("lets wrong answers pass", "red")
    if not check.let_pass and check.complaints:
        words = ("can't judge as it is", "red")
    elif not check.was_examined:
        words = ("not examined", "yellow")
    return Text.assemble((one_line(check.problem), "bold"), " ", words)


def _counted(check: ProblemCheck) -> str:
    cases = len({draw.case for draw in check.draws})
    variants = list(dict.fromkeys(draw.variant for draw in check.draws if draw.variant))
    among = f"; also {', '.join(variants)}" if variants else ""
    return f"{len(check.mutants)} mutants, {cases} cases, {len(check.draws)} draws of inputs{among}"


def _mutants(check: ProblemCheck, verbose: bool) -> Table:
    """A row for each: how many draws catch it, how far outside the tolerance it is at best, which draws miss it."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("mutant", overflow="fold")
    table.add_column("caught by", justify="right", no_wrap=True)
    table.add_column("error/tol", justify="right", no_wrap=True)
    table.add_column("missed by", overflow="fold")
    for mutant in check.mutants:
        caught = f"{len(mutant.caught_by)} of {len(mutant.trials)}"
        style = "red" if mutant.is_let_pass else "dim" if mutant.harmless else ""
        missed = mutant.harmless or _labels(mutant.missed_by, verbose)
        table.add_row(_name(mutant, check), caught, _multiple(mutant.worst), one_line(missed), style=style)
    return table


def _draws(draws: Sequence[Draw]) -> Table:
    table = Table(
        box=None, pad_edge=False, header_style="dim", title="inputs", title_justify="left", title_style="bold"
    )
    for column in ("case", "variant", "size of outputs", "tolerance", "reference/tol", "examined"):
        table.add_column(column, justify="left" if column in ("case", "variant") else "right", overflow="fold")
    for draw in draws:
        sizes = ", ".join(f"{rms:.3g}" for rms in draw.rms)
        held = ", ".join(map(str, draw.tolerances))
        part = f"{draw.examined} of {draw.rows}" if draw.examined is not None else "all"
        table.add_row(one_line(draw.case), draw.variant or "—", sizes, held, _multiple(draw.reference_worst), part)
    return table


def _reference(check: ProblemCheck) -> Iterator[str]:
    """Whether it agrees with itself."""
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
    """Of the case that moves most, or of all."""
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


def _line(sentence: str, style: str = "") -> Text:
    return Text(one_line(sentence), style=style)
