"""Judge a problem: would its inputs and its tolerance tell the right answer from the mutants' wrong ones?

Only trusted code runs, so no worker is needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from harness.devices import FLAGS
from harness.model.ceilings import Ceilings
from harness.model.check import DerivedTolerance
from harness.model.evaluation import SpeedOfLight, Work
from harness.model.problem_check import Draw, MutantResult, MutantTrial, ProblemCheck
from harness.model.roofline import arithmetic_of, speed_of_light
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.ceilings.work import work_of
from harness.referee.mutants.mutants import OF_THE_ANSWER, Mutant, recomputed
from harness.referee.mutants.specimens import Examined, TooLarge, are_equal, specimens, worst_error
from harness.referee.mutants.telling import describe_drawn, telling
from harness.referee.setting import Setting, prepare_setting
from harness.workspace.problem import Problem


@dataclass
class _Findings:
    draws: list[Draw] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    facts: set[str] = field(default_factory=set)
    tried: dict[tuple[str, int], tuple[Mutant, list[MutantTrial]]] = field(default_factory=dict)
    """The trials of each mutant on each output, by its name and the output's number."""
    complaints: list[str] = field(default_factory=list)
    derived: list[DerivedTolerance] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    works: dict[str, Work] = field(default_factory=dict)
    lights: dict[str, SpeedOfLight] = field(default_factory=dict)


def check_problem(
    problem: Problem,
    cases: Sequence[str],
    seed: int,
    device: str,
    notify: Callable[[str], None],
    ceilings: Ceilings | None = None,
) -> ProblemCheck:
    """Try every mutant on the named cases and their variants, on 'cuda' or 'cpu'.

    A case that the device can't bear is recorded as skipped. `ceilings` are the device's, where they are known.
    """
    started, found = time.monotonic(), _Findings()
    for case in cases:
        notify(f"{problem.name}: {case}")
        try:
            setting = prepare_setting(problem, case, seed, device)
            if work := work_of(setting):
                found.works[case] = work
                if ceilings:
                    arithmetic = arithmetic_of(None, setting.precision, FLAGS, work)
                    found.lights[case] = speed_of_light(work, ceilings, arithmetic)
            _examine(setting, found)
        except TooLarge as error:
            found.skipped[case] = str(error)
        except InvalidProblem as error:
            found.complaints.append(f"{case}: {error}")
        except (torch.OutOfMemoryError, MemoryError):
            found.skipped[case] = "takes more memory than there is"
        if device == "cuda":
            torch.cuda.empty_cache()
    return ProblemCheck(
        problem=problem.name,
        sha256=problem.sha256,
        device=torch.cuda.get_device_name() if device == "cuda" else "CPU",
        seed=seed,
        draws=tuple(found.draws),
        skipped=found.skipped,
        mutants=tuple(_result(*one, output, found) for (_, output), one in found.tried.items()),
        complaints=tuple(dict.fromkeys(found.complaints)),
        derived=tuple(found.derived),
        remarks=tuple(dict.fromkeys(found.remarks)),
        duration_s=time.monotonic() - started,
        works=found.works,
        lights=found.lights,
    )


def _examine(setting: Setting, found: _Findings) -> None:
    for examined in specimens(setting, found.skipped):
        found.draws.append(examined.draw)
        found.facts |= examined.facts
        found.complaints += examined.complaints
        for mutant in (*OF_THE_ANSWER, *recomputed(examined.specimen)):
            _try(mutant, examined, found)
    if drawn := describe_drawn(telling(setting)):
        found.remarks.append(drawn)
    if left := setting.spec.changed_inputs - setting.state:
        names = ", ".join(name for name, at in setting.reference.positions(max(left) + 1).items() if left & {*at})
        found.remarks.append(
            f"{setting.case}: Model.forward() changes {names}: a solution may leave it as it was, unless state in "
            "problem.yaml names it"
        )
    found.derived += setting.derived()
    if setting.oracle.why_float32:
        found.remarks.append(setting.oracle.why_float32)


def _try(mutant: Mutant, examined: Examined, found: _Findings) -> None:
    for number, answer in enumerate(mutant.answers(examined.specimen) or ()):
        if answer is not None:
            _, trials = found.tried.setdefault((mutant.name, number), (mutant, []))
            trials.append(_trial(answer, number, examined))


def _trial(answer: torch.Tensor, number: int, examined: Examined) -> MutantTrial:
    draw = examined.draw
    worst = worst_error([answer], [examined.exact[number]], [draw.tolerances[number]])
    return MutantTrial(draw.case, draw.variant, worst, are_equal([answer], [examined.specimen.want[number]]))


def _result(mutant: Mutant, trials: Sequence[MutantTrial], output: int, found: _Findings) -> MutantResult:
    given = mutant.harmless_given
    is_harmless = all(trial.is_identical for trial in trials) and given is not None and given in {"", *found.facts}
    is_let_pass = not is_harmless and not any(trial.caught for trial in trials)
    return MutantResult(
        name=mutant.name,
        what=mutant.what,
        output=output,
        trials=tuple(trials),
        harmless=mutant.harmless if is_harmless else None,
        advice=_advice(mutant, trials[0], output, found) if is_let_pass else None,
    )


def _advice(mutant: Mutant, trial: MutantTrial, output: int, found: _Findings) -> str:
    """The mutant's advice with the numbers of the first draw."""
    draw = next(d for d in found.draws if (d.case, d.variant) == (trial.case, trial.variant))
    tolerance = draw.tolerances[output]
    return f"{mutant.advice} (tolerance: {tolerance}; size of the outputs: {draw.rms[output]:.3g})"
