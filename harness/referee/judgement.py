"""Judge what a call returned: its form, then every value against the oracle."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import torch

from harness.model.check import Check, OutputComparison, Tolerance
from harness.model.simulator_findings import FINDING_KINDS
from harness.model.verdict import Verdict
from harness.referee.answers.comparison import Comparison, comparison_of, within
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.oracle import copied
from harness.referee.answers.output_spec import OutputSpec, dtype_name
from harness.referee.excuses import beside_choices, loosened, may_blame, remember_excuse
from harness.referee.setting import Setting
from harness.referee.tolerance import MARGIN, TOLD_BY, distance, least_for, unit_of
from harness.sandbox.outcome import SolutionFailed, TooMuchWork
from harness.sandbox.wire.device import Finding
from harness.sandbox.wire.messages import CallTaken

ROUNDS = 3
"""Times that a few rows outside the tolerance are looked at: others may err more."""
_LONGEST = 80
"""Characters of a structure that are told: of tolist() it would fill a page."""
_SLIGHT = 10.0
"""The error, in tolerances, up to which rounding is suspected: a term left out is off by thousands, as a rule."""
_FILLS = {"uint8": 255.0, **dict.fromkeys(("int8", "int16", "int32", "int64"), -1.0)}
"""Integers whose bits are all set: so is the memory that a call allocates, where nobody writes."""
_OF_INDICES = "int64"
"""The dtype of the indices that torch returns."""
_FIRST_INDEX = "take the first one's index, as torch does (argmax, max and min along a dim, a stable sort)"
_OUT_OF_BOUNDS = {"illegal-address", "shared-out-of-bounds", "array-index-out-of-bounds"}


class UnfairVariant(Exception):
    """A variant on which a solution fails, and the plainest arithmetic errs by as much as a wrong element: it blames
    nobody."""


def judge_form(reply: CallTaken, spec: OutputSpec) -> None:
    """Judge type, structure, shapes, dtypes and device, as the worker describes them. Raises: SolutionFailed."""
    if reply.structure != spec.structure or len(reply.outputs) != len(spec.shapes):
        raise SolutionFailed(
            Verdict.WRONG_OUTPUT_TYPE,
            f"returned {_described(reply.structure, len(reply.outputs))} where the reference returns "
            f"{_described(spec.structure, len(spec.shapes))}",
        )
    for number, (form, shape, dtype) in enumerate(zip(reply.outputs, spec.shapes, spec.dtypes, strict=True)):
        which = f"{spec.called(number)}: " if spec.called(number) else ""
        want = dtype_name(dtype)
        if form.type_name is not None:
            raise SolutionFailed(Verdict.WRONG_OUTPUT_TYPE, f"{which}a {form.type_name} where a tensor belongs")
        if form.shape != shape:
            raise SolutionFailed(Verdict.WRONG_SHAPE, f"{which}got {_shape(form.shape)}, want {_shape(shape)}")
        if form.dtype != want:
            raise SolutionFailed(Verdict.WRONG_DTYPE, f"{which}got {form.dtype}, want {want}")
        if form.device != "cuda":
            raise SolutionFailed(Verdict.WRONG_OUTPUT_TYPE, f"{which}a tensor on {form.device}, want cuda")


def keeps_output(reply: CallTaken, spec: OutputSpec) -> bool:
    """Say whether an output lies in the memory of an earlier one that is still held, where the reference's don't."""
    return any(map(_is_earlier, reply.shares)) and not spec.is_kept


def judge_sharing(reply: CallTaken, spec: OutputSpec, may_keep: bool = False) -> None:
    """Judge whether outputs have their own memory, or share it as the reference's do; with `may_keep` also an earlier
    output's. Raises: SolutionFailed."""
    allowed = {f"input {number}" for number in spec.shared_inputs}
    for name in reply.shares:
        if name in allowed or (_is_earlier(name) and (may_keep or spec.is_kept)):
            continue
        raise SolutionFailed(
            Verdict.WRONG_VALUES,
            f"an output shares its memory with {name}",
            next_step="return a tensor that forward() has allocated (torch.empty_like(…), or .clone() of a buffer that "
            "is kept between calls): whoever holds an earlier result must not see it change",
        )


def _is_earlier(name: str) -> bool:
    return name.startswith("output ")


def judge_values(
    got: Sequence[torch.Tensor],
    inputs: Sequence[Any],
    setting: Setting,
    tolerances: Sequence[Tolerance] | None = None,
) -> tuple[OutputComparison, ...]:
    """Compare complete outputs with the oracle's. `tolerances`, one per output, replace the problem's own: they are a
    variant's.

    Where values are outside a derived tolerance, the reference's own error on these very inputs is measured as well and
    decides: a right kernel may err where the reference errs. As much is allowed in later comparisons that begin with
    the same tolerances, of other draws. On variants, which have tolerances of their own, a wrong element need only be
    outside; that it is by far the inputs as drawn show. Nor are they tried on all rows: elements at which the reference
    itself is outside, such as one that overflows, aren't compared. Nor are few values that depend on what the reference
    chooses.

    Raises: UnfairVariant where values are outside and the plainest arithmetic errs without bound.
    """
    first = tuple(tolerances or setting.tolerances)
    held_to = setting.excused.get(first, first)
    compared, left_out = _compared_beside_choices(got, inputs, setting, held_to)
    for _ in range(ROUNDS):
        if all(output.passed for output in compared):
            break
        milder = loosened(setting, compared, inputs, TOLD_BY if tolerances is None else 1.0)
        if milder == held_to:
            break
        held_to = milder
        compared, left_out = _compared_beside_choices(got, inputs, setting, held_to)
        if all(output.passed for output in compared):
            remember_excuse(setting, first, milder)
    if tolerances is not None and not all(output.passed for output in compared):
        with contextlib.suppress(InvalidProblem, torch.OutOfMemoryError, MemoryError):
            eager = setting.oracle.native(copied(inputs))
            compared = compared_with_oracle(got, inputs, setting, held_to, eager, left_out)
        if not (all(output.passed for output in compared) or may_blame(setting, compared, inputs)):
            raise UnfairVariant
    return compared


def _compared_beside_choices(
    got: Sequence[torch.Tensor],
    inputs: Sequence[Any],
    setting: Setting,
    held_to: Sequence[Tolerance],
) -> tuple[tuple[OutputComparison, ...], tuple[torch.Tensor, ...] | None]:
    """Compare complete outputs with the oracle's, and also return what is left out of that, beside choices of the
    reference's, if anything is."""
    compared = compared_with_oracle(got, inputs, setting, held_to)
    with contextlib.suppress(InvalidProblem, torch.OutOfMemoryError, MemoryError):
        if not all(output.passed for output in compared):
            left_out = beside_choices(setting, got, compared, inputs, held_to)
            if left_out is not None:
                return compared_with_oracle(got, inputs, setting, held_to, left_out=left_out), left_out
    return compared, None


def judge_left(got: torch.Tensor, native: torch.Tensor, exact: torch.Tensor, setting: Setting) -> OutputComparison:
    """Compare what a call left in an input with what the oracle leaves, by a tolerance as outputs have: derived from
    the error of what the reference itself leaves."""
    tolerance, least = setting.problem.tolerance, least_for(native.dtype, setting.precision)
    if got.is_floating_point() and got.itemsize == 1:  # float8, in which torch compares nothing
        least = torch.finfo(got.dtype).eps
        got, native = got.float(), native.float()
    if tolerance is None:
        unit = unit_of(exact)
        tolerance = unit.times(max(least, MARGIN * distance(native, exact, unit)) if least else 0.0)
    return comparison_of(got, exact, tolerance)


def compared_with_oracle(
    got: Sequence[torch.Tensor],
    inputs: Sequence[Any],
    setting: Setting,
    held_to: Sequence[Tolerance],
    eager: Sequence[torch.Tensor] | None = None,
    left_out: Sequence[torch.Tensor] | None = None,
) -> tuple[OutputComparison, ...]:
    """Compare complete outputs with the oracle's, whose errors these tolerances permit; only where `eager` outputs are
    within them, if there are any. Of what is `left_out` nothing counts as wrong."""
    spec = setting.spec
    forms = zip(spec.shapes, spec.dtypes, held_to, strict=True)
    comparisons = [Comparison(shape, dtype, tolerance) for shape, dtype, tolerance in forms]
    for rows, outputs in setting.pieces(inputs):
        setting.require_shapes(outputs)
        origin = () if rows.start is None else (rows.start,)
        for number, (comparison, want) in enumerate(zip(comparisons, outputs, strict=True)):
            place = rows if want.dim() else ()
            one = got[number][place]
            only = None if eager is None else within(eager[number][place], want, held_to[number])
            if left_out is not None:
                kept = within(one, want, held_to[number]) | ~left_out[number][place]
                only = kept if only is None else kept & only
            comparison.add(one, want, origin, only)
    return tuple(comparison.result() for comparison in comparisons)


def failure_of(check: Check, spec: OutputSpec) -> SolutionFailed | None:
    """The failure, with the numbers, where values are outside the tolerance."""
    for number, output in enumerate(check.outputs):
        if not output.passed:
            which = f"{spec.called(number)}: " if spec.called(number) else ""
            reason = f"{which}{describe_mismatch(output)}"
            return SolutionFailed(Verdict.WRONG_VALUES, reason, _listed(output), _next_step(output, check, spec))
    return None


def _next_step(output: OutputComparison, check: Check, spec: OutputSpec) -> str | None:
    """Say what the numbers suggest; None where they suggest nothing."""
    if check.variant and check.variant.endswith("few distinct") and "int" in output.dtype:
        return f"among equal values {_FIRST_INDEX}"
    if spec.may_choose and output.dtype == _OF_INDICES:
        return f"where values are equal, {_FIRST_INDEX}; else compare at the positions listed"
    fill = _FILLS.get(output.dtype)
    if {one.got for one in output.first_mismatches} == {fill}:
        return f"{fill:g} also stands where nothing was written: look for elements that no thread writes"
    if output.worst <= _SLIGHT:
        return "no value is far off: look at the precision of accumulators and intermediates, then for lost terms"
    return None


def describe_mismatch(output: OutputComparison) -> str:
    """Say how many values are wrong, and the first of them."""
    first = output.first_mismatches[0]
    share = output.mismatches / max(1, output.compared)
    share = share if output.mismatches == output.compared else min(share, 0.9999)  # 100.00% is said of all alone
    percent = f"{share:.2%}" if share >= 0.0001 else "below 0.01%"
    verb = "is" if output.mismatches == 1 else "are"
    values = "values" if output.compared == output.elements else "compared values"
    return (
        f"{output.mismatches:,} of {output.compared:,} {values} ({percent}) {verb} outside the tolerance; "
        f"first at {list(first.index)}: {first.values()}"
    )


def fault_among(findings: Sequence[Finding]) -> SolutionFailed | None:
    """The verdict on the first fault that the simulator saw; None where there are only remarks.

    An access out of bounds precedes another fault in the same line: a row that runs into the next one is also a race.
    """
    faults = [one for one in findings if one.kind in FINDING_KINDS and FINDING_KINDS[one.kind].verdict]
    if not faults:
        return None
    fault = next((one for one in faults if one.kind in _OUT_OF_BOUNDS and _is_beside(one, faults[0])), faults[0])
    kind = FINDING_KINDS[fault.kind]
    details = "\n".join([*_quoted(fault), *_beside(fault, findings)])
    failed = TooMuchWork if fault.kind == "too-much-work" else SolutionFailed
    return failed(Verdict(str(kind.verdict)), describe_finding(fault), details, kind.next_step)


def _is_beside(one: Finding, other: Finding) -> bool:
    return one.line is not None and (one.kernel, one.file, one.line) == (other.kernel, other.file, other.line)


def _quoted(finding: Finding) -> list[str]:
    return [f"{finding.line:>5} | {finding.code}"] if finding.line and finding.code else []


def _beside(fault: Finding, findings: Sequence[Finding]) -> list[str]:
    """List the other findings: the first fault isn't always the cause."""
    others = [finding for finding in findings if finding is not fault]
    lines = [line for other in others for line in (describe_finding(other), *_quoted(other))]
    return ["also seen:", *lines] if lines else []


def describe_finding(finding: Finding) -> str:
    """Say what the simulator saw, in which kernel, line and thread, and how often."""
    kernel = f" in {finding.kernel}" if finding.kernel else ""
    line = f" at line {finding.line}" if finding.line else ""
    thread = f", block {list(finding.block)}, thread {list(finding.thread)}" if finding.block and finding.thread else ""
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    return f"{finding.kind}{kernel}{line}{thread}: {finding.detail}{times}"


def _described(structure: str, count: int) -> str:
    if len(structure) > _LONGEST:
        return f"a {structure[:_LONGEST]}… of {count}"
    return f"a {structure}" + (f" of {count}" if count and structure == "tuple" else "")


def _shape(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "a scalar"


def _listed(output: OutputComparison) -> str:
    rows = [f"  {list(m.index)}: {m.values()}" for m in output.first_mismatches]
    held = f"{output.worst:.3g} times the tolerance"
    if math.isinf(output.worst):
        held = "no error is tolerated" if output.tolerance.is_exact else "some are NaN or infinite, and must not be"
    relative = output.relative_error
    largest = [f"largest absolute error {output.max_abs_error:.3g}"]
    largest += [] if relative is None else [f"relative {relative:.3g}"]
    return "\n".join([f"{', '.join([*largest, held])}; first mismatches:", *rows])
