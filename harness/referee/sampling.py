"""The simulator at the full shape: the true launch configuration, of which only a few blocks run.

Inputs are a short stretch of real values, repeated over the whole buffer, so that gigabytes cost megabytes; outputs
are sparse files in which a hole means that nothing was written. This finds what reduced shapes hide: 32-bit index
overflow, limits of the grid, too much shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from harness.devices.base import Host
from harness.model.check import Check
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.answers.output_spec import tensor_bytes
from harness.referee.buffers.buffers import Buffers
from harness.referee.buffers.case_turns import stamped
from harness.referee.buffers.turns import ALL_BLOCKS, Taken, Weights, construct_arm, take_turn
from harness.referee.ceilings.work import work_of
from harness.referee.correctness import Watch
from harness.referee.found import CaseOutcome
from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.inputs.stretched import draws_all, stretched_inputs
from harness.referee.inputs.ties import has_open_order
from harness.referee.judgement import describe_finding, failure_of, judge_form, judge_sharing
from harness.referee.sampled_answer import SampledAnswer
from harness.referee.setting import Setting
from harness.referee.written_values import data_extents, was_changed, written_places
from harness.sandbox.outcome import SolutionFailed, TooMuchWork
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.device import KernelRun
from harness.sandbox.wire.messages import TakeTurn, TurnTaken
from harness.workspace.problem import FULL

COMPLETE_BYTES = 32 * 2**20
"""Cases whose inputs and outputs fit into this run whole; larger ones are sampled."""
_QUICK_BYTES, SLOW_S = 2**20, 15.0
"""A reference that takes so long a call, with its oracle, isn't run at the full shape, such as a recurrence in Python;
one of fewer bytes isn't asked."""
_WHOLE_BYTES, _WHOLE_OPERATIONS = 2**30, 2 * 10**11
"""The most that the oracle computes for the whole of a case: some seconds on two cores."""
_AGAIN_SHARE = 0.2
"""The share of a turn's time that a turn may have taken which is taken again."""
_MORE_BLOCKS = 16
_KEPT_BYTES = 2**29
"""The most of an output that is kept beside itself."""
_ALLOCATES = re.compile(r"aten::(empty|new_empty|zeros|new_zeros|zero_$|view$|as_strided$|reshape$|detach|resize_$)")


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
    watch: Watch | None,
    renew: Callable[[], WorkerProcess],
) -> CaseOutcome:
    """Take one turn of a few blocks of the true launch. `renew` gives a worker that knows nothing of these blocks, in
    place of this one.

    Values are compared only after a single launch: another might read what blocks that didn't run should have written.
    Where torch's operators come before it, what the launch changes may convict, and acquits nobody of what is wrong in
    a small case. Raises: SolutionFailed.
    """
    seed = setting.seed("inputs", 0)
    is_whole = is_oracle_cheap(setting)
    inputs = make_inputs(setting, Drawn(seed)) if is_whole else stretched_inputs(setting, seed)
    changed = setting.spec.changed_inputs | setting.state if host.sees_writes else ()
    with Buffers(host, setting.spec, changed=changed) as buffers:
        buffers.lay_inputs(inputs)
        turns = SampledTurns(setting, buffers, worker, config, renew)
        outcome = CaseOutcome(turns.construct())
        taken, blocks = turns.take_first(traced=watch is not None)
        reply = taken.answered
        judge_form(reply.calls[0], setting.spec)
        judge_sharing(reply.calls[0], setting.spec)
        told = f"{setting.case}: {blocks} blocks of the true launch simulated, not all"
        outcome.remarks += [told] if reply.launches else []
        outcome.remarks += [f"{setting.case}: {describe_finding(finding)}" for finding in reply.findings]
        if watch is not None:
            watch(reply, taken.wall_ns, True)
        parts = turns.on_top(taken) if is_whole else []
        if parts and all(bool(was_changed(*part).any()) for part in parts):
            changed_answer = SampledAnswer(setting, buffers, inputs, seed, is_whole, parts)
            check, failure = _judged(turns, changed_answer, reply, blocks, outcome)
            if failure:
                outcome.add(check, failure)
                return outcome
        if why := _why_not_compared(setting, buffers, reply, is_whole):
            outcome.remarks.append(_uncompared(setting, why))
            return outcome
        answer = SampledAnswer(setting, buffers, inputs, seed, is_whole)
        outcome.is_constant = answer.is_constant
        check, failure = _judged(turns, answer, reply, blocks, outcome)
        if _is_written(buffers) and (check.passed or not _may_add_up(reply)):
            outcome.add(check, failure)
        else:
            _judge_after_all_blocks(turns, answer, check, outcome)
        return outcome


def _judged(
    turns: SampledTurns, answer: SampledAnswer, reply: TurnTaken, blocks: int, outcome: CaseOutcome
) -> tuple[Check, SolutionFailed | None]:
    """Check what at most so many blocks of each launch wrote, and return the failure if it fails. Few blocks may have
    met zeros by chance, as in rows between a transposed convolution's strides; so more run before the grid is blamed.
    """
    check = answer.check()
    grid_blocks = sum(row.blocks for row in reply.kernels or ())  # 0 where that isn't known
    if failure := _failure(check, answer.setting):
        return check, failure
    if uncovered := answer.uncovered(grid_blocks, blocks):
        taken = turns.take_more(blocks, traced=bool(reply.kernels))
        parts, more = turns.on_top(taken) if answer.parts else (), taken.answered
        names, others = ([row.name for row in _writing_operators(one)] for one in (reply, more))
        has_others = more.launches != reply.launches or names != others
        if has_others or (answer.parts and not parts):
            return check, uncovered
        answer, blocks = replace(answer, parts=parts), blocks * _MORE_BLOCKS
        outcome.remarks.append(f"{answer.setting.case}: then {blocks} blocks, since these wrote few values but zeros")
        check, uncovered = answer.check(), answer.uncovered(grid_blocks, blocks)
    return check, _failure(check, answer.setting) or uncovered


def _judge_after_all_blocks(turns: SampledTurns, answer: SampledAnswer, few: Check, outcome: CaseOutcome) -> None:
    """Judge what all blocks wrote, where the check of a `few` decides nothing. Raises: SolutionFailed."""
    outcome.weights = turns.start_anew()  # a count of blocks that have ended may be kept from call to call
    try:
        turns.take(ALL_BLOCKS)
    except SolutionFailed as error:
        if error.verdict is not Verdict.UNSUPPORTED:
            raise
        turns.buffers.forget(turns.worker)  # a launch that was given up fails all that follows
        if few.passed and all(output.compared for output in few.outputs):
            turns.renew()
            why = "the blocks that ran wrote nothing but zeros, which memory may hold before"
            outcome.remarks.append(_uncompared(answer.setting, why))
        else:
            outcome.add(few, _undecided(few, answer.setting, error))
        return
    check = answer.check(is_all=True)
    outcome.add(check, _failure(check, answer.setting))


def _is_written(buffers: Buffers) -> bool:
    """Say whether there is more than zeros and poison in each output."""
    pairs = zip(buffers.outputs(), buffers.output_buffers(), strict=True)
    return all(any(places.numel() for places in written_places(*pair)) for pair in pairs)


def _why_not_compared(setting: Setting, buffers: Buffers, reply: TurnTaken, is_whole: bool) -> str | None:
    """Say why values after a few blocks tell nothing here; None where they do."""
    if not reply.launches:
        return "no kernel was launched"
    if reply.launches != 1:
        return f"{reply.launches} launches, some of which may read what blocks that were left out would have written"
    if _writing_operators(reply):
        return "one of torch's operators wrote beside the kernel"
    if is_whole:
        return None
    if has_open_order(setting) and not draws_all(setting.meta_inputs or [], setting):
        return "inputs are too large to draw, and stretched ones have equal values, among which an order is open"
    if setting.problem.independent_batch:
        return None
    # Blocks that wrote whole values of each output can be compared by rows, though nobody claims these.
    if setting.has_found_items and not _may_add_up(reply) and _is_written(buffers):
        return None
    return "the reference is too large to run here, and problem.yaml doesn't say independent_batch: true"


def _may_add_up(reply: TurnTaken) -> bool:
    """Say whether an element may have its value from several blocks. Within a launch that takes atomic operations, so
    where there were none, what is wrong after a few blocks stays wrong."""
    return reply.account is None or reply.account.atomics > 0


def _uncompared(setting: Setting, why: str) -> str:
    return f"{setting.case}: searched for faults only, values not compared: {why}"


def _failure(check: Check, setting: Setting) -> SolutionFailed | None:
    failed = failure_of(check, setting.spec)
    return failed and stamped(failed, check.case)


def _undecided(check: Check, setting: Setting, why: SolutionFailed) -> SolutionFailed:
    """Values are wrong after some blocks, and all of them can't be run: neither right nor wrong."""
    found = _failure(check, setting) or "nothing was written into an output"
    return SolutionFailed(
        Verdict.UNSUPPORTED, f"after some of its blocks {found}; with all of them: {why}", next_step="run it on a GPU"
    )


def is_oracle_cheap(setting: Setting) -> bool:
    """Say whether the reference can be run for the whole case, where its rows aren't known to be independent."""
    if setting.problem.independent_batch or (setting.lessons.call_s or 0.0) > SLOW_S:
        return False
    work = work_of(setting)
    return work is not None and work.least_bytes <= _WHOLE_BYTES and (work.operations or 0) <= _WHOLE_OPERATIONS


@dataclass(eq=False)
class SampledTurns:
    """Takes turns of a few blocks of a case's launches. `renew` gives another worker. Raises: SolutionFailed."""

    setting: Setting
    buffers: Buffers
    worker: WorkerProcess
    config: Config
    renew: Callable[[], WorkerProcess]

    def construct(self) -> Weights:
        self.buffers.attach(self.worker, self.config.limits.load_s)
        return construct_arm(self.worker, self.buffers, self.setting, self.config.limits)

    def start_anew(self) -> Weights:
        """Take turns with another worker from now on."""
        self.buffers.forget(self.worker)
        self.worker = self.renew()
        return self.construct()

    def take_first(self, traced: bool) -> tuple[Taken, int]:
        """Take a turn of a few blocks, and another of more where these wrote nothing but zeros, of which an output may
        be full. Return the last turn and the most blocks of each of its launches."""
        blocks = self.config.correctness.sampled_blocks
        taken = self.take(blocks, self.setting.seed("blocks"), traced)
        reply = taken.answered
        if reply.launches == 1 and not (_may_add_up(reply) or _is_written(self.buffers)):
            taken = self.take_more(blocks, traced)
            blocks *= _MORE_BLOCKS
        return taken, blocks

    def take_more(self, than_blocks: int, traced: bool = False) -> Taken:
        return self.take(than_blocks * _MORE_BLOCKS, self.setting.seed("blocks"), traced)

    def on_top(self, taken: Taken) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Return each output after a turn whose launch comes after operators of torch's, and as it is without the
        launch; nothing for other turns, and long ones."""
        most_ns = _AGAIN_SHARE * self.config.turn_limits.turn_s * 1e9
        is_quick = taken.wall_ns < most_ns and self.setting.spec.nbytes <= _KEPT_BYTES
        if not is_quick or not _comes_last(taken.answered) or _may_add_up(taken.answered):
            return []
        after = [output.clone() for output in self.buffers.outputs()]
        self.take(0)
        return list(zip(after, self.buffers.outputs(), strict=True))

    def take(self, blocks: int, seed: int = 0, traced: bool = False) -> Taken:
        for buffer in self.buffers.output_buffers():  # a page of zeros isn't copied over what an earlier turn left
            for start, stop in data_extents(buffer):
                buffer.content[max(0, start) : stop].zero_()
        request = TakeTurn(self.buffers.calls((0,)), traced=traced, sample_blocks=blocks, sample_seed=seed)
        try:
            return take_turn(self.worker, self.buffers, request, self.config.turn_limits)
        except SolutionFailed as error:
            if error.verdict not in (Verdict.OUT_OF_MEMORY, Verdict.TIMEOUT):
                raise
            kind = TooMuchWork if error.verdict is Verdict.TIMEOUT else SolutionFailed
            raise kind(
                Verdict.UNSUPPORTED, f"more than the simulator can bear: {error}", next_step="run it on a GPU"
            ) from error


def _comes_last(reply: TurnTaken) -> bool:
    """Say whether there was one launch, after operators of torch that leave values."""
    operators = [row.start_ns for row in _writing_operators(reply)]
    own = [row.start_ns for row in reply.kernels or () if not row.name.startswith("aten::")]
    return reply.launches == 1 == len(own) and 0 < max(operators, default=0) < own[0]


def _writing_operators(reply: TurnTaken) -> list[KernelRun]:
    """The operators of torch that leave anything but zeros in new memory."""
    return [row for row in reply.kernels or () if row.name.startswith("aten::") and not _ALLOCATES.match(row.name)]
