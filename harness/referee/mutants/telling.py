"""Whether a problem can tell a right kernel from the crudest wrong ones, before anybody passes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.referee.answers.reference import InvalidProblem
from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.mutants.mutants import OF_THE_ANSWER, Mutant, Specimen
from harness.referee.setting import Setting
from harness.referee.tolerance.derive import TOLD_BY, distance

_CRUDEST = ("zeros", "ones", "mean", "stale", "one_element")
_EXAMINED = 2**16
"""Elements of each output on which mutants are tried, where rows are independent."""


def require_telling(setting: Setting, variants: Sequence[Drawn]) -> None:
    """Let each of the crudest mutants be a solution: inputs as drawn, or a variant, must show it to be wrong by a
    factor of four. Where problem.yaml names the tolerance this is for its author to see, by check-problem.

    Raises: InvalidProblem that names a mutant which nothing shows.
    """
    if setting.problem.tolerance is not None:
        return
    left = [mutant for mutant in OF_THE_ANSWER if mutant.name in _CRUDEST]
    for specimen in _specimens(setting, variants):
        left = [mutant for mutant in left if not _is_told(mutant, specimen)]
        if not left:
            return
    raise InvalidProblem(
        f"a kernel that {left[0].what} would pass ({setting.case}, mutant {left[0].name}): whatever the inputs, right "
        "answers lie too near to it for this reference's own precision"
    )


def _specimens(setting: Setting, variants: Sequence[Drawn]) -> Iterator[Specimen]:
    """Of inputs as drawn, then of each variant; an earlier call's answer is the one to other inputs as drawn."""
    earlier = _some(setting, setting.reference.make_inputs(setting.seed("inputs", "earlier")))
    for drawn in (Drawn(setting.seed("inputs", "telling")), *variants):
        yield _specimen(setting, _some(setting, make_inputs(setting, drawn)), earlier)


def _some(setting: Setting, inputs: list[Any]) -> list[Any]:
    return setting.some_rows(inputs, _EXAMINED)


def _specimen(setting: Setting, inputs: list[Any], earlier: list[Any]) -> Specimen:
    want, other = setting.rounded_answer(inputs), setting.rounded_answer(earlier)
    return Specimen(setting, inputs, want, earlier, other, setting.evidence_on(inputs))


def _is_told(mutant: Mutant, specimen: Specimen) -> bool:
    answers = mutant.answers(specimen) or ()
    fitting = [each for each in zip(answers, specimen.want, specimen.evidence, strict=False) if each[0] is not None]
    if not fitting:
        return True
    return any(
        distance(answer, want, one.unit) >= TOLD_BY * one.share for answer, want, one in fitting if answer is not None
    )
