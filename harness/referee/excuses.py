"""Excuses for values outside of a derived tolerance: the errors of the reference itself on the very inputs."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from harness.model.check import OutputComparison, Tolerance
from harness.referee.answers.comparison import within
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.kept import SeededInputs
from harness.referee.answers.kernel_kinds import KERNEL_KINDS, NOISY, KernelKind
from harness.referee.answers.oracle import Oracle, copied
from harness.referee.answers.uncast import HALVES
from harness.referee.setting import Setting
from harness.referee.tolerance import MARGIN, MOVED_SHARE, TOLD_BY, ErrorEvidence, distance, distances_by_choice

_FAR = 0.5
"""The error, in local scales, that isn't sought in other rows where the reference doesn't err so on those examined."""
_UNTRIED = (InvalidProblem, torch.OutOfMemoryError, MemoryError)
_SAMPLES = 2
"""The runs with random errors, of which the largest counts."""
_CUT = 1.25 / MARGIN
"""Whoever cuts operands errs as measured, but for the order of sums."""
_UNITS, _FURTHER, _GROWS = 2.0, 4.0, 2.0
"""Results are off by so many units in the last place. Off by four times as many, the answer must be more than twice as
far off."""
_RUNS, _VAIN_RUNS = 256, 96
"""The most runs with results a little off, and after how many that explain nothing more they end: what lies beside two
ties at once is as it should be in one of six runs of the right kind of kernel."""


def loosened(
    setting: Setting, compared: Sequence[OutputComparison], inputs: Sequence[Any], told_by: float
) -> tuple[Tolerance, ...]:
    """Loosen the tolerances of a comparison by evidence_against() it, as far as a wrong element stays outside by the
    factor `told_by`; as they are where that can't excuse it."""
    tolerances = tuple(output.tolerance for output in compared)
    if setting.problem.tolerance is not None:
        return tolerances
    try:
        evidence = evidence_against(setting, compared, inputs, told_by)
    except _UNTRIED:
        return tolerances
    milder = tuple(one.looser(found.tolerance) for one, found in zip(tolerances, evidence, strict=True))
    return milder if may_excuse(milder, compared) else tolerances


def remember_excuse(setting: Setting, first: tuple[Tolerance, ...], milder: tuple[Tolerance, ...]) -> None:
    """Remember what excused a comparison that began with `first`: the factor by which all of a tolerance has grown, and
    not the relative part alone, as it does for rows whose right answers are next to nothing. A wrong element stays
    outside."""
    triples = zip(first, milder, setting.evidence, strict=True)
    setting.excused[first] = tuple(
        one if one.is_exact else one.times(max(1, min(one.least_growth(new), found.loosest.rtol / one.rtol)))
        for one, new, found in triples
    )


def beside_choices(
    setting: Setting,
    got: Sequence[torch.Tensor],
    compared: Sequence[OutputComparison],
    inputs: Sequence[Any],
    held_to: Sequence[Tolerance],
) -> tuple[torch.Tensor, ...] | None:
    """Tell for each value whether a choice of the reference's excuses it (answers.choices): whether it is the right
    answer after what the reference chooses in its own precision, or with results a little off; where many values depend
    on that, whether it is eager's. None where nothing is chosen, where many values are outside, and where problem.yaml
    names the tolerance.

    Raises: InvalidProblem, torch.OutOfMemoryError, MemoryError.
    """
    are_few = all(output.mismatches <= max(1, MOVED_SHARE * output.elements) for output in compared)
    if setting.problem.tolerance is not None or not are_few:
        return None
    seed = inputs.seed if isinstance(inputs, SeededInputs) else None
    kept = setting.beside_choices
    if kept.is_for(seed, held_to, got):
        return kept.left_out
    left_out = _found_beside_choices(setting, got, inputs, held_to)
    if left_out is not None:
        kept.keep(seed, held_to, got, left_out)
    return left_out


def _found_beside_choices(
    setting: Setting, got: Sequence[torch.Tensor], inputs: Sequence[Any], held_to: Sequence[Tolerance]
) -> tuple[torch.Tensor, ...] | None:
    excused, is_eager = ([torch.zeros_like(one, dtype=torch.bool) for one in got] for _ in range(2))
    moved = [0.0] * len(got)
    for rows, given in setting.parts(inputs):
        places = [rows if one.dim() else () for one in got]
        part = [one[place] for one, place in zip(got, places, strict=True)]
        values = _after_choices(setting.oracle, part, given, held_to)
        if values is None:
            return None
        for number, one in enumerate(values):
            excused[number][places[number]] = one.excused
            is_eager[number][places[number]] = one.is_eager
            moved[number] += one.moved
    are_few = all(count <= max(1, MOVED_SHARE * one.numel()) for count, one in zip(moved, got, strict=True))
    return tuple(excused if are_few else is_eager)


@dataclass
class _AfterChoices:
    """The values of an output beside what the reference may choose: `got`, right ones, and `own`, those after the
    choices of eager."""

    got: torch.Tensor
    want: torch.Tensor
    own: torch.Tensor
    eager: torch.Tensor
    tolerance: Tolerance

    def __post_init__(self) -> None:
        self._is_outside = ~self._agrees(self.got, self.want)
        self.is_eager = self.got == self.eager
        self._is_own = self.is_eager | self._agrees(self.got, self.own)
        self._is_near = torch.zeros_like(self._is_own)
        self._runs = self._moved = 0

    def add(self, near: torch.Tensor, kind: KernelKind) -> None:
        """Add a run with results a little off; where all are, it tells how much moves."""
        self._is_near |= self._agrees(self.got, near)
        if kind == NOISY:
            self._moved += int((~self._agrees(near, self.own)).sum())
            self._runs += 1

    @property
    def unexplained(self) -> int:
        """The number of values outside that nothing excuses."""
        return int((self._is_outside & ~self.excused).sum())

    @property
    def excused(self) -> torch.Tensor:
        """The values that are right after the choices of eager or of a run; no NaN."""
        return (self._is_own | self._is_near) & ~self.got.isnan()

    @property
    def moved(self) -> float:
        """The number of values that a run of the noisiest kind moves, on average."""
        return self._moved / max(1, self._runs)

    def _agrees(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return within(one, other, self.tolerance).to(self.got.device)


def _after_choices(
    oracle: Oracle, got: Sequence[torch.Tensor], inputs: Sequence[Any], held_to: Sequence[Tolerance]
) -> list[_AfterChoices] | None:
    """Find out for some rows; None where nothing is chosen, or shapes are."""
    with oracle.noting() as noted:
        eager = oracle.native(copied(inputs))
    if not noted.choices or [one.shape for one in eager] != [one.shape for one in got]:
        return None
    want = oracle.answer(inputs)
    own = oracle.following(inputs, noted.choices, want) or want
    values = list(map(_AfterChoices, got, want, own, eager, held_to))
    left, in_vain, kinds = sum(one.unexplained for one in values), 0, list(KERNEL_KINDS)
    for seed in range(_RUNS):
        if not left or not kinds or in_vain == _VAIN_RUNS:
            break
        kind = kinds[seed % len(kinds)]
        try:
            near = oracle.choosing(inputs, kind, seed, want)
        except InvalidProblem:  # such as one that makes indices of what it computes
            kinds = [one for one in kinds if one != kind]
            continue
        for one, other in zip(values, near or (), strict=near is not None):
            one.add(other, kind)
        before, left = left, sum(one.unexplained for one in values)
        in_vain = in_vain + 1 if left == before else 0
    return values


def may_blame(setting: Setting, compared: Sequence[OutputComparison], inputs: Sequence[Any]) -> bool:
    """Say whether a variant may blame: whether the plainest arithmetic errs less than a wrong element, in an output
    that a comparison found outside of a derived tolerance. An honest kernel may err by as much. Where rows are
    independent, those outside must show it, and others that no solution chooses."""
    if setting.problem.tolerance is not None:
        return True
    outside, rows = _rows_outside(setting, compared, inputs)
    asked = [outside, setting.examined_rows(inputs)] if rows else [inputs]
    try:
        for on in asked:
            want, evidence = _measured(setting, on, 1.0)
            evidence = _with_plain_arithmetic(setting, evidence, on, want)
            pairs = zip(compared, evidence, strict=True)
            if any(found.bears_plain_arithmetic for output, found in pairs if not output.passed):
                return True
    except _UNTRIED:
        return True
    return False


def evidence_against(
    setting: Setting, compared: Sequence[OutputComparison], inputs: Sequence[Any], told_by: float = TOLD_BY
) -> tuple[ErrorEvidence, ...]:
    """Measure the reference's errors on the first rows of these inputs that a comparison found outside: by themselves,
    among all rows, since for fewer cuDNN may choose an algorithm that errs less, and in the plainest arithmetic where
    that may excuse it.

    Raises: InvalidProblem, torch.OutOfMemoryError, MemoryError.
    """
    on, rows = _rows_outside(setting, compared, inputs)
    want, evidence = _measured(setting, on, told_by)
    if setting.on_gpu and rows:
        evidence = with_errors_among_all(evidence, setting.oracle.ways(inputs), rows, want)
    if may_excuse([one.loosest for one in evidence], compared):
        evidence = _with_plain_arithmetic(setting, evidence, on, want)
    return evidence


def may_excuse(tolerances: Sequence[Tolerance], compared: Sequence[OutputComparison]) -> bool:
    """Say whether these tolerances, or such as other rows may lead to, could admit what a comparison found outside of
    derived ones, whose relative part counts local scales."""
    pairs = zip(tolerances, compared, strict=True)
    return all(
        found.passed or found.worst <= found.tolerance.growth(new) or found.worst * found.tolerance.rtol <= _FAR
        for new, found in pairs
    )


def _rows_outside(
    setting: Setting, compared: Sequence[OutputComparison], inputs: Sequence[Any]
) -> tuple[Sequence[Any], list[int]]:
    """The inputs of the first rows that a comparison found outside, and which; all, and none, where rows depend on each
    other."""
    rows = sorted({one.index[0] for output in compared for one in output.first_mismatches if one.index})
    divided = setting.oracle.rows(inputs)
    return (divided.together(inputs, rows), rows) if divided and rows else (inputs, [])


def _measured(
    setting: Setting, inputs: Sequence[Any], told_by: float
) -> tuple[tuple[torch.Tensor, ...], tuple[ErrorEvidence, ...]]:
    """The oracle's answer and Setting.evidence_on(), which later solutions needn't measure again."""
    answers = []

    def measured() -> tuple[ErrorEvidence, ...]:
        want, evidence = setting.answer_with_evidence(inputs)
        answers.append(want)
        return evidence

    evidence = setting.lessons.runs.take(inputs, "evidence", measured)
    want = answers[0] if answers else setting.whole_answer(inputs)
    return want, tuple(replace(one, told_by=told_by) for one in evidence)


def with_errors_among_all(
    evidence: Sequence[ErrorEvidence],
    ways: Iterable[tuple[str, Sequence[torch.Tensor]]],
    rows: Sequence[int],
    want: Sequence[torch.Tensor],
) -> tuple[ErrorEvidence, ...]:
    """Add the errors of these rows among all to evidence on these rows alone, as far as all can be computed: `ways`
    give the outputs for all, each under its name. `want` are the right values of these. An overflow is no error that
    anyone may make."""
    found = list(evidence)
    with contextlib.suppress(*_UNTRIED):
        for name, outputs in ways:
            for number, (one, output, right) in enumerate(zip(found, outputs, want, strict=True)):
                error = 0.0 if one.unit.is_exact else distance(output[list(rows)], right, one.unit)
                if math.isfinite(error):
                    found[number] = replace(one, errors={**one.errors, f"{name} among all": error})
    return tuple(found)


def _with_plain_arithmetic(
    setting: Setting,
    evidence: Sequence[ErrorEvidence],
    inputs: Sequence[Any],
    want: Sequence[torch.Tensor],
) -> tuple[ErrorEvidence, ...]:
    units = [one.unit for one in evidence]
    errors = setting.lessons.runs.take(inputs, "plain arithmetic", lambda: _plain_errors(setting, inputs, want, units))
    return tuple(replace(one, of_plain_arithmetic=error) for one, error in zip(evidence, errors, strict=True))


def _plain_errors(
    setting: Setting, inputs: Sequence[Any], want: Sequence[torch.Tensor], units: Sequence[Tolerance]
) -> tuple[float, ...]:
    """The errors of the plainest arithmetic, which takes long: of serial sums, of convolutions in tf32 that cut instead
    of rounding, of results two units in the last place off, as CUDA's functions are (CUDA C++ Programming Guide,
    Mathematical Functions), and, for outputs in half precision, of all results rounded to it. `want` are the right
    values, and `units` one local scale of each output."""
    oracle, dtypes, errors = setting.oracle, setting.spec.dtypes, [0.0] * len(want)

    def note(found: Sequence[float]) -> None:
        errors[:] = map(max, errors, found)

    def errors_of(run: Callable[..., Sequence[torch.Tensor] | None], *facts: float) -> list[float]:
        with oracle.noting() as noted:
            outputs = run(inputs, *facts)
        if not outputs:
            return [0.0] * len(want)
        return distances_by_choice(oracle, inputs, outputs, noted.choices, want, units)

    with contextlib.suppress(*_UNTRIED):
        note(errors_of(oracle.summed_serially))
    with contextlib.suppress(*_UNTRIED):
        # Few terms tell from cutting who computes in bfloat16, which on average errs no more.
        if "few_terms" in setting.problem.variants:
            note([_CUT * error for error in errors_of(oracle.cut_to_tf32)])
    for seed, half in itertools.product(range(_SAMPLES), (None, *HALVES.intersection(dtypes))):
        last_places = _UNITS if half is None else _units_of(half)
        with contextlib.suppress(*_UNTRIED):
            more = errors_of(oracle.perturbed, seed, last_places * _FURTHER)
            found = errors_of(oracle.perturbed, seed, last_places)
            # An answer that jumps is as far off by less: that tells of the jump alone.
            triples = zip(found, more, dtypes, strict=True)
            note([near if half in (None, of) and _GROWS * near < far < math.inf else 0.0 for near, far, of in triples])
    return tuple(errors)


def _units_of(half: torch.dtype) -> float:
    """The most that rounding to this format costs, in units of float32's last place."""
    return torch.finfo(half).eps / torch.finfo(torch.float32).eps / 2
