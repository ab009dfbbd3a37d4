"""The simulator at the full shape: the true launch configuration, of which only a few blocks run.

Inputs are a short stretch of real values, repeated over the whole buffer, so that gigabytes cost megabytes; outputs
are sparse files in which a hole means that nothing was written. This finds what reduced shapes hide: 32-bit index
overflow, limits of the grid, too much shared memory.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from harness.devices import SimHost
from harness.devices.base import Host, SharedBuffer
from harness.model.check import Check, OutputComparison, Scope, Tolerance
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.answers.comparison import Comparison, comparison_of
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.answers.output_spec import OutputSpec, tensor_bytes
from harness.referee.buffers.buffers import Buffers
from harness.referee.buffers.case_turns import stamped
from harness.referee.buffers.turns import ALL_BLOCKS, Taken, construct_arm, take_turn
from harness.referee.ceilings.work import work_of
from harness.referee.found import CaseOutcome
from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.inputs.stretched import PeriodicInput, draws_all, rows_of, stretched_inputs
from harness.referee.inputs.variants import has_open_order
from harness.referee.judgement import ROUNDS, describe_finding, failure_of, judge_form, judge_sharing
from harness.referee.setting import Setting
from harness.referee.tolerance import ErrorEvidence, least_tolerance, may_excuse
from harness.sandbox.outcome import SolutionFailed, TooMuchWork
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.messages import TakeTurn, TurnTaken
from harness.workspace.problem import FULL

COMPLETE_BYTES = 32 * 2**20
"""Cases whose inputs and outputs fit into this run whole; larger ones are sampled."""
_QUICK_BYTES, SLOW_S = 2**20, 15.0
"""A reference that takes so long a call, with its oracle, isn't run at the full shape, such as a recurrence in Python;
one of fewer bytes isn't asked."""
_WHOLE_BYTES, _WHOLE_OPERATIONS = 2**30, 2 * 10**11
"""The most that the oracle computes for the whole of a case: some seconds on two cores."""
_PIECE_ELEMENTS = 2**22
_AGAIN_SHARE = 0.2
"""The share of a turn's time that a turn may have taken which is taken again."""
_MORE_BLOCKS = 16
_KEPT_BYTES = 2**29
"""The most of an output that is kept beside itself."""
_ALLOCATES = re.compile(r"aten::(empty|new_empty|zeros|new_zeros|zero_$|view$|as_strided$|reshape$|detach|resize_$)")

_Found = TypeVar("_Found")


def must_be_sampled(setting: Setting, host: Host) -> bool:
    """Say whether a case is too large to be simulated whole, or, at the full shape, the reference too slow, which is
    run some twenty times."""
    if host.name != "sim" or setting.meta_inputs is None:
        return False
    nbytes = tensor_bytes(setting.meta_inputs) + setting.spec.nbytes
    may_be_slow = setting.case == FULL and nbytes > _QUICK_BYTES
    return nbytes > COMPLETE_BYTES or (may_be_slow and setting.call_s > SLOW_S)


def check_sampled(
    setting: Setting,
    host: Host,
    worker: WorkerProcess,
    config: Config,
    watch: Callable[[TurnTaken, int, bool], None] | None = None,
    renew: Callable[[], WorkerProcess] | None = None,
) -> CaseOutcome:
    """Take one turn of a few blocks of the true launch. `renew` gives a worker that knows nothing of these blocks, in
    place of this one.

    Values are compared only after a single launch: another might read what blocks that didn't run should have written.
    Where torch's operators come before it, what the launch changes may convict, and acquits nobody of what is wrong in
    a small case. Raises: SolutionFailed.
    """
    assert isinstance(host, SimHost)
    seed = setting.seed("inputs", 0)
    is_whole = is_oracle_cheap(setting)
    inputs = make_inputs(setting, Drawn(seed)) if is_whole else stretched_inputs(setting, seed)
    changed = setting.spec.changed_inputs | setting.state if host.sees_writes else ()
    with Buffers(host, setting.spec, changed=changed) as buffers:
        _lay(buffers, host, inputs, setting)
        buffers.attach(worker, config.limits.load_s)
        outcome = CaseOutcome(construct_arm(worker, buffers, setting, config.limits))
        taken, blocks = _take_first_turn(worker, buffers, config, setting, traced=watch is not None)
        reply = taken.answered
        judge_form(reply.calls[0], setting.spec)
        judge_sharing(reply.calls[0], setting.spec)
        told = f"{setting.case}: {blocks} blocks of the true launch simulated, not all"
        outcome.remarks += [told] if reply.launches else []
        outcome.remarks += [f"{setting.case}: {describe_finding(finding)}" for finding in reply.findings]
        if watch is not None:
            watch(reply, taken.wall_ns, True)
        parts = _on_top(setting, buffers, worker, config, taken) if is_whole else []
        if parts and all(bool(_was_changed(*part).any()) for part in parts):
            answer = _SampledAnswer(buffers, inputs, setting, seed, is_whole, parts)
            check = setting.check(seed, "sampled_blocks", _judge(answer, setting))
            if failure := _failure(check, setting.spec) or answer.uncovered(_grid_blocks(reply), blocks):
                outcome.add(check, failure)
                return outcome
        if why := _why_not_compared(setting, buffers, reply, is_whole):
            outcome.remarks.append(f"{setting.case}: searched for faults only, values not compared: {why}")
            return outcome
        answer = _SampledAnswer(buffers, inputs, setting, seed, is_whole)
        check = setting.check(seed, "sampled_blocks", _judge(answer, setting))
        is_silent = not _is_written(buffers)
        if not is_silent and (check.passed or not _may_add_up(reply)):
            outcome.add(check, _failure(check, setting.spec) or answer.uncovered(_grid_blocks(reply), blocks))
            return outcome
        if renew:  # a count of blocks that have ended may be kept from call to call
            buffers.forget(worker)
            worker = renew()
            buffers.attach(worker, config.limits.load_s)
            outcome.weights = construct_arm(worker, buffers, setting, config.limits)
        try:
            _take_sampled_turn(worker, buffers, config, ALL_BLOCKS, 0, traced=False)
        except SolutionFailed as error:
            if error.verdict is not Verdict.UNSUPPORTED:
                raise
            buffers.forget(worker)  # a launch that was given up fails all that follows
            if check.passed and all(output.compared for output in check.outputs):
                if renew:
                    renew()
                why = "the blocks that ran wrote nothing but zeros, which memory may hold before"
                outcome.remarks.append(f"{setting.case}: searched for faults only, values not compared: {why}")
                return outcome
            outcome.add(check, _undecided(check, setting.spec, error))
            return outcome
        check = setting.check(seed, answer.scope, _judge(answer, setting, is_all=True))
        outcome.add(check, _failure(check, setting.spec))
        return outcome


def _take_first_turn(
    worker: WorkerProcess, buffers: Buffers, config: Config, setting: Setting, traced: bool
) -> tuple[Taken, int]:
    """Take a turn of a few blocks, and another of more where these wrote nothing but zeros, of which an output may be
    full. Return the last turn and the most blocks of each of its launches. Raises: SolutionFailed."""
    blocks, seed = config.correctness.sampled_blocks, setting.seed("blocks")
    taken = _take_sampled_turn(worker, buffers, config, blocks, seed, traced)
    reply = taken.answered
    if reply.launches == 1 and not (_may_add_up(reply) or _is_written(buffers)):
        blocks *= _MORE_BLOCKS
        taken = _take_sampled_turn(worker, buffers, config, blocks, seed, traced)
    return taken, blocks


def _is_written(buffers: Buffers) -> bool:
    """Say whether there is more than zeros and poison in each output."""
    pairs = zip(buffers.outputs(), buffers.output_buffers(), strict=True)
    return all(any(places.numel() for places in _written_places(*pair)) for pair in pairs)


def _why_not_compared(setting: Setting, buffers: Buffers, reply: TurnTaken, is_whole: bool) -> str | None:
    """Say why values after a few blocks tell nothing here; None where they do."""
    if not _is_one_kernels_work(reply):
        if reply.launches < 2:
            return "one of torch's operators wrote beside the kernel" if reply.launches else "no kernel was launched"
        return f"{reply.launches} launches, some of which may read what blocks that were left out would have written"
    if is_whole:
        return None
    if has_open_order(setting) and not draws_all(setting.meta_inputs or [], setting):
        return "inputs are too large to draw, and stretched ones have equal values, among which an order is open"
    if setting.problem.independent_batch or _may_take_rows(setting, buffers, reply):
        return None
    return "the reference is too large to run here, and problem.yaml doesn't say independent_batch: true"


def _may_take_rows(setting: Setting, buffers: Buffers, reply: TurnTaken) -> bool:
    """Say whether rows that nobody claims can be compared: blocks have written whole values of each output."""
    if not setting.has_found_items or _may_add_up(reply):
        return False
    pairs = zip(buffers.outputs(), buffers.output_buffers(), strict=True)
    return all(_written_rows(output, buffer).numel() for output, buffer in pairs)


def _may_add_up(reply: TurnTaken) -> bool:
    """Say whether an element may have its value from several blocks. Within a launch that takes atomic operations, so
    where there were none, what is wrong after a few blocks stays wrong."""
    return reply.account is None or reply.account.atomics > 0


def _failure(check: Check, spec: OutputSpec) -> SolutionFailed | None:
    failed = failure_of(check, spec)
    return failed and stamped(failed, check.case)


def _undecided(check: Check, spec: OutputSpec, why: SolutionFailed) -> SolutionFailed:
    """Values are wrong after some blocks, and all of them can't be run: neither right nor wrong."""
    found = _failure(check, spec) or "nothing was written into an output"
    return SolutionFailed(
        Verdict.UNSUPPORTED, f"after some of its blocks {found}; with all of them: {why}", next_step="run it on a GPU"
    )


def _lay(buffers: Buffers, host: SimHost, inputs: Sequence[Any], setting: Setting) -> None:
    if not any(isinstance(value, PeriodicInput) for value in inputs):
        buffers.lay_inputs(inputs)
        return
    for value, spec in zip(inputs, setting.meta_inputs or [], strict=True):
        if isinstance(value, PeriodicInput):
            buffers.lay_buffer(host.allocate_periodic(value.nbytes, value.stretch.view(torch.uint8)), spec)
        else:
            buffers.lay_value(value)


def is_oracle_cheap(setting: Setting) -> bool:
    """Say whether the reference can be run for the whole case, where its rows aren't known to be independent."""
    if setting.problem.independent_batch or (setting.lessons.call_s or 0.0) > SLOW_S:
        return False
    work = work_of(setting)
    return work is not None and work.least_bytes <= _WHOLE_BYTES and (work.operations or 0) <= _WHOLE_OPERATIONS


def _on_top(
    setting: Setting, buffers: Buffers, worker: WorkerProcess, config: Config, taken: Taken
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return each output after a turn whose launch comes after operators of torch's, and as it is without the launch;
    nothing for other turns, and long ones. Raises: SolutionFailed."""
    is_quick = taken.wall_ns < _AGAIN_SHARE * config.turn_limits.turn_s * 1e9 and setting.spec.nbytes <= _KEPT_BYTES
    if not is_quick or not _comes_last(taken.answered) or _may_add_up(taken.answered):
        return []
    after = [output.clone() for output in buffers.outputs()]
    _take_sampled_turn(worker, buffers, config, 0, 0, traced=False)
    return list(zip(after, buffers.outputs(), strict=True))


def _comes_last(reply: TurnTaken) -> bool:
    """Say whether there was one launch, after operators of torch that leave values."""
    rows = reply.kernels or ()
    operators = [row.start_ns for row in rows if row.name.startswith("aten::") and not _ALLOCATES.match(row.name)]
    own = [row.start_ns for row in rows if not row.name.startswith("aten::")]
    return reply.launches == 1 == len(own) and 0 < max(operators, default=0) < own[0]


def _is_one_kernels_work(reply: TurnTaken) -> bool:
    """Say whether there was one launch, and no operator of torch that leaves anything but zeros in new memory."""
    return reply.launches == 1 and all(
        not row.name.startswith("aten::") or _ALLOCATES.match(row.name) for row in reply.kernels or ()
    )


def _grid_blocks(reply: TurnTaken) -> int:
    """Return the number of blocks of the launches' grids; 0 where that isn't known."""
    return sum(row.blocks for row in reply.kernels or ())


def _take_sampled_turn(
    worker: WorkerProcess, buffers: Buffers, config: Config, blocks: int, seed: int, traced: bool
) -> Taken:
    for buffer in buffers.output_buffers():  # a page that holds zeros alone isn't copied over what an earlier turn left
        for start, stop in _data_extents(buffer):
            buffer.content[max(0, start) : stop].zero_()
    request = TakeTurn(buffers.calls((0,)), traced=traced, sample_blocks=blocks, sample_seed=seed)
    try:
        return take_turn(worker, buffers, request, config.turn_limits)
    except SolutionFailed as error:
        if error.verdict not in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT):
            raise
        kind = TooMuchWork if error.verdict is Verdict.TIMEOUT else SolutionFailed
        raise kind(
            Verdict.UNSUPPORTED, f"more than the simulator can bear: {error}", next_step="run it on a GPU"
        ) from error


@dataclass(eq=False)
class _SampledAnswer:
    """The right answer for the whole case, or by rows alone for the first and the last row (dimension 0) that the
    sampled blocks touched, or of all where they touched none. What counts is what they wrote; where that is nothing but
    zeros, all but the poison."""

    buffers: Buffers
    inputs: Sequence[Any]
    setting: Setting
    seed: int
    is_whole: bool
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]] = ()
    """Outputs of a whole case after the launch and without it; what it changed counts."""

    def __post_init__(self) -> None:
        outputs = self.buffers.outputs()
        written = [_written_rows(*pair) for pair in zip(outputs, self.buffers.output_buffers(), strict=True)]
        self._are_zeros = [not one.numel() for one in written]
        rows = [_outermost(*pair) for pair in zip(written, outputs, strict=True)]
        self._rows = None if self.is_whole else rows
        self.scope: Scope = "complete" if self.is_whole else "row"
        self.want = self._of_each_output(self.setting.oracle.answer)

    @property
    def is_divided(self) -> bool:
        """True where evidence is taken on rows of a whole case, which say nothing of the case."""
        return self._rows is None and self.setting.oracle.rows(self.inputs, self.setting.spec) is not None

    def evidence_against(self, compared: Sequence[OutputComparison]) -> Sequence[ErrorEvidence]:
        """Measure the reference's errors; of a whole case on what was found outside, where its rows are independent."""
        if self._rows is not None:
            return self._of_each_output(self.setting.evidence_on)
        if self.setting.oracle.find_rows(self.inputs, self.setting.spec):
            self.inputs = make_inputs(self.setting, Drawn(self.seed))  # a run may have changed them
        return self.setting.evidence_against(compared, self.inputs)

    def _of_each_output(self, find: Callable[[Sequence[Any]], Sequence[_Found]]) -> Sequence[_Found]:
        """Return what `find` gives for each output, by the inputs that count for it."""
        if self._rows is None:
            return find(self.inputs)
        return [find(rows_of(self.inputs, rows))[number] for number, rows in enumerate(self._rows)]

    def compare(self, tolerances: Sequence[Tolerance], is_all: bool) -> tuple[OutputComparison, ...]:
        if self.parts:
            each = zip(self.parts, self.want, tolerances, strict=True)
            return tuple(comparison_of(part[0], want, held_to, _was_changed(*part)) for part, want, held_to in each)
        found = []
        for number, (output, want) in enumerate(zip(self.buffers.outputs(), self.want, strict=True)):
            comparison = Comparison(tuple(output.shape), output.dtype, tolerances[number])
            spans = self._spans(number, output, is_all)
            if not spans:
                only = None if is_all or not output.dim() else _was_written(output, or_is_zero=True)
                comparison.add(output, want, only=only)
            for start, stop, first in spans:
                part = output[start:stop]
                only = None if is_all else _was_written(part, or_is_zero=self._are_zeros[number])
                comparison.add(part, want[first : first + stop - start], (start,), only)
            found.append(comparison.result())
        return tuple(found)

    def uncovered(self, grid_blocks: int, most: int) -> SolutionFailed | None:
        """Return the failure where the blocks that ran, `most` at most, write so little that the whole grid can't fill
        the outputs: what no block writes is seen by nobody. Half of those that ran may write nothing. Zeros count on
        neither side: memory may hold them before."""
        ran = min(most, grid_blocks)
        for output, (written, wanted) in zip(self.buffers.outputs(), self._written(), strict=True):
            if 0 < 2 * written * grid_blocks < wanted * ran:
                return SolutionFailed(
                    Verdict.UNSUPPORTED,
                    f"the {ran} blocks that ran wrote {written:,} of an output's {output.numel():,} values, at which "
                    f"rate the grid's {grid_blocks:,} can't fill it; what the others write isn't known here",
                    next_step="make sure that the grid covers the output at this shape, or run it on a GPU",
                )
        return None

    def _written(self) -> Iterator[tuple[int, int]]:
        """Count what was written of each output, and what had to be."""
        if self.parts:
            for (after, before), want in zip(self.parts, self.want, strict=True):
                least = least_tolerance(want, after.dtype, self.setting.problem.precision)
                yield int(_was_changed(after, before).sum()), comparison_of(before, want, least).mismatches
            return
        pairs = zip(self.buffers.outputs(), self.buffers.output_buffers(), strict=True)
        for (output, buffer), want in zip(pairs, self.want, strict=True):
            written = sum(places.numel() for places in _written_places(output, buffer))
            yield written, int((want.to(output.dtype) != 0).sum()) * output.numel() // max(1, want.numel())

    def _spans(self, number: int, output: torch.Tensor, is_all: bool) -> list[tuple[int, int, int]]:
        """Ranges of an output's rows, each with its first row in `want`; none for all of the output."""
        if self._rows is not None:
            return [(row, row + 1, place) for place, row in enumerate(self._rows[number])]
        if is_all or not output.dim():
            return []
        rows = _written_rows(output, self.buffers.output_buffers()[number])
        return [(start, stop, start) for start, stop in _runs(rows, output)] if rows.numel() else []


def _judge(answer: _SampledAnswer, setting: Setting, is_all: bool = False) -> tuple[OutputComparison, ...]:
    """Judge by the least tolerance where problem.yaml names none. Where that isn't kept, the reference's own error
    decides: finding that out takes longer than all the rest. Raises: InvalidProblem."""
    pairs = zip(answer.want, setting.spec.dtypes, strict=True)
    named, precision = setting.problem.tolerance, setting.problem.precision
    held_to = [named or least_tolerance(want, dtype, precision) for want, dtype in pairs]
    compared = answer.compare(held_to, is_all)
    for _ in range(ROUNDS):
        if named or all(output.passed for output in compared):
            break
        evidence = answer.evidence_against(compared)
        if not (answer.is_divided or all(one.is_telling for one in evidence)):
            raise InvalidProblem("the reference's own error at the full shape is such that a wrong element would pass")
        milder = [one.looser(found.tolerance) for one, found in zip(held_to, evidence, strict=True)]
        if milder == held_to or not may_excuse(milder, compared):
            break
        held_to, compared = milder, answer.compare(milder, is_all)
    return compared


def _outermost(rows: torch.Tensor, output: torch.Tensor) -> list[int]:
    """The first and the last of the rows, or of all that the output has, where there is none."""
    first, last = (int(rows[0]), int(rows[-1])) if rows.numel() else (0, math.prod(output.shape[:1]) - 1)
    return list(dict.fromkeys((first, last)))


def _written_rows(output: torch.Tensor, buffer: SharedBuffer) -> torch.Tensor:
    """Indices of dimension 0 under which something was written, in order."""
    width = max(1, math.prod(output.shape[1:]))
    found = [torch.unique_consecutive(places // width) for places in _written_places(output, buffer)]
    rows: torch.Tensor = torch.unique_consecutive(torch.cat([torch.empty(0, dtype=torch.int64), *found]))
    return rows


def _written_places(output: torch.Tensor, buffer: SharedBuffer) -> Iterator[torch.Tensor]:
    """Places of an output's values that were written, in order and in pieces.

    Holes are not read: reading a shared mapping fills it with pages.
    """
    flat = output.view(-1)
    for start, stop in _data_extents(buffer):
        first, last = max(0, start) // output.itemsize, min(-(-stop // output.itemsize), flat.numel())
        for begin in range(first, last, _PIECE_ELEMENTS):
            yield _was_written(flat[begin : min(begin + _PIECE_ELEMENTS, last)]).nonzero().view(-1) + begin


def _runs(rows: torch.Tensor, output: torch.Tensor) -> Iterator[tuple[int, int]]:
    """Ranges of neighbouring rows, none larger than a piece unless a row is."""
    most = max(1, _PIECE_ELEMENTS // max(1, math.prod(output.shape[1:])))
    gaps = (rows.diff() > 1).nonzero().view(-1) + 1
    for run in torch.tensor_split(rows, gaps):
        for start in range(int(run[0]), int(run[-1]) + 1, most):
            yield start, min(start + most, int(run[-1]) + 1)


def _was_written(part: torch.Tensor, or_is_zero: bool = False) -> torch.Tensor:
    """Tell which elements were written. An unwritten one is zero (a hole of the file) or the allocation's poison."""
    bits = _bits(part)
    found = (bits != -1) & ((bits != 0) | or_is_zero)
    return found.any(dim=-1) if part.is_complex() else found


def _was_changed(after: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Tell which values have other bits, of those that are written on one side at least."""
    found = _bits(after) != _bits(before)
    return (found.any(dim=-1) if after.is_complex() else found) & (_was_written(after) | _was_written(before))


def _bits(values: torch.Tensor) -> torch.Tensor:
    values = torch.view_as_real(values) if values.is_complex() else values
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return values.contiguous().view(integers[values.dtype.itemsize])


def _data_extents(buffer: SharedBuffer) -> Iterator[tuple[int, int]]:
    """Byte ranges of the buffer that are no holes."""
    assert buffer.descriptor is not None
    size, position = os.fstat(buffer.descriptor).st_size, 0
    while position < size:
        try:
            start = os.lseek(buffer.descriptor, position, os.SEEK_DATA)
        except OSError:
            return
        position = os.lseek(buffer.descriptor, start, os.SEEK_HOLE)
        yield start - buffer.handle.offset, position - buffer.handle.offset
