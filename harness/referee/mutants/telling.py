"""Find out whether a problem can tell a right kernel from the crudest wrong ones, before it judges any solution."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch

from harness.referee.answers.invalid_problem import InvalidProblem, TellsNothing
from harness.referee.inputs.draws import Drawn, fair_variants, make_inputs
from harness.referee.mutants.mutants import OF_THE_ANSWER, Mutant, Specimen
from harness.referee.setting import Lessons, Setting, prepare_setting
from harness.referee.tolerance import TOLD_BY, reaches

_CRUDEST = ("zeros", "ones", "mean", "stale", "one_element")
COPY = "input_returned"
"""A copy may be the right answer. Where it needn't be, as after a new normalisation, varied parameters show that."""
_NAMED = 2
_DRAWS = 6
"""The draws of parameters that are tried: a random bias alone may saturate all outputs, in a third of the draws of
KernelBench's level 2 no. 58."""
_LONGEST_S = 60.0
"""The seconds after which no further draw is tried."""
_EXAMINED = 2**16
"""The number of elements of each output on which mutants are tried, where rows are independent."""


def telling(setting: Setting) -> Setting:
    """Return the setting itself where every crude mutant shows; else one with varied parameters, or with others drawn,
    where that helps.

    Both sides are judged and timed with these parameters: a kernel that knew when parameters are varied could be wrong
    whenever they aren't. Raises: TellsNothing with the mutant that nothing shows; InvalidProblem where the reference
    fails.
    """
    started = time.monotonic()
    passes = untold(setting)
    if passes is None:
        return setting
    if setting.spec.nbytes == 0:
        raise TellsNothing(f"the output of {setting.case} is empty, so that any kernel would pass: give it elements")
    if _has_parameters(setting):
        others = [] if passes.name == COPY else [Lessons(draw=number) for number in range(1, _DRAWS)]
        for lessons in (Lessons(passes.name), *others):
            if lessons.draw and time.monotonic() - started > _LONGEST_S:
                break
            if (other := _with_others(setting, lessons)) is not None:
                return other
    if passes.name == COPY:
        return setting
    raise TellsNothing(
        f"a kernel that {passes.what} would pass ({setting.case}, mutant {passes.name}): whatever the inputs and the "
        "parameters, right answers lie too near to it for this reference's own precision"
    )


def _with_others(setting: Setting, lessons: Lessons) -> Setting | None:
    """The setting with other parameters, as the lessons have them drawn; None where they don't help."""
    facts = (setting.problem, setting.case, setting.master_seed, setting.reference.device, setting.repeat)
    try:
        other = prepare_setting(*facts, lessons, setting.tries)
        return other if untold(other) is None else None
    except InvalidProblem:  # with varied parameters the reference may overflow
        return None
    finally:
        setting.lessons.is_short |= lessons.is_short


def describe_drawn(setting: Setting) -> str | None:
    """The remark on parameters that are varied, or drawn anew; None where they are neither."""
    if setting.lessons.draw:
        return (
            f"{setting.case}: parameters are drawn anew on both sides: with those drawn first a wrong kernel would pass"
        )
    if setting.varied_for is None:
        return None
    return (
        f"{setting.case}: parameters are varied on both sides: with those of __init__ a wrong kernel would pass "
        f"(mutant {setting.varied_for})"
    )


def describe_neutral(setting: Setting) -> str | None:
    """The remark on parameters and statistics that are ones or zeros throughout, as those of a new normalisation; None
    where none are."""
    state = (*setting.model.named_parameters(), *setting.model.named_buffers())
    named = [name for name, value in state if _is_neutral(value)]
    if not named:
        return None
    names = ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")
    return f"{setting.case}: {names}: ones or zeros throughout, so a solution that leaves them out isn't noticed"


def _is_neutral(value: torch.Tensor) -> bool:
    return value.numel() > 1 and value.flatten()[0] in (0, 1) and bool((value == value.flatten()[0]).all())


def untold(setting: Setting) -> Mutant | None:
    """Find a crude mutant that neither inputs as drawn nor a deciding variant shows to be wrong by a factor of four.

    The result is None also where problem.yaml names the tolerance: check-problem shows its author what passes.

    Raises: InvalidProblem where the reference fails.
    """
    if setting.problem.tolerance is not None:
        return None
    may_vary = _has_parameters(setting) and not setting.problem.keeps_parameters
    names = (*_CRUDEST, COPY) if may_vary else _CRUDEST
    left = sorted((one for one in OF_THE_ANSWER if one.name in names), key=lambda one: names.index(one.name))
    for specimen in _specimens(setting):
        left = [mutant for mutant in left if not _is_told(mutant, specimen)]
        if not left:
            return None
        del specimen  # before the next one asks for as much memory
    return left[0]


def _has_parameters(setting: Setting) -> bool:
    return any(True for _ in setting.model.parameters())


def _specimens(setting: Setting) -> Iterator[Specimen]:
    """Inputs as drawn, then each variant that decides; what an earlier call left is the answer to other inputs, of
    which no crude mutant sees more than that."""
    earlier = setting.some_rows(setting.reference.make_inputs(setting.seed("inputs", "earlier")), _EXAMINED)
    left = setting.rounded(setting.oracle.answer_anywhere(earlier))
    del earlier
    yield _specimen(setting, Drawn(setting.seed("inputs", "telling")), left)
    for drawn in (one for one in fair_variants(setting).drawn if one.decides):  # those that solutions are judged by
        yield _specimen(setting, drawn, left)


def _specimen(setting: Setting, drawn: Drawn, left: tuple[torch.Tensor, ...]) -> Specimen:
    changed_row = drawn.variant.row if drawn.variant else 0
    inputs = setting.some_rows(make_inputs(setting, drawn), _EXAMINED, changed_row)
    want, evidence = setting.answer_with_evidence(inputs)
    return Specimen(setting, inputs, setting.rounded(want), (), left, evidence)


def _is_told(mutant: Mutant, specimen: Specimen) -> bool:
    answers = mutant.answers(specimen) or ()
    fitting = [each for each in zip(answers, specimen.want, specimen.evidence, strict=False) if each[0] is not None]
    if not fitting:
        return True
    return any(
        reaches(TOLD_BY * one.share, answer, want, one.unit) for answer, want, one in fitting if answer is not None
    )
