"""The turns of one case over its buffers, those of the solution judged.

Correctness and timing take their turns here, over the same buffers and with the same construction of the module. What a
solution is given doesn't tell which kind of turn it is in; the worker's process around it does (SECURITY.md), and so
what is compared is drawn anew for every turn, and chosen in this process.
"""

from __future__ import annotations

import contextlib
import random
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from harness.model.check import Check, OutputComparison, Scope
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.audit.claims import require_originals
from harness.referee.buffers.buffers import Buffers
from harness.referee.buffers.conduct import Conduct
from harness.referee.buffers.laid import KeptRow, Laid, imprint, is_unchanged
from harness.referee.buffers.turns import Taken, Weights, construct_arm, give_back, take_turn
from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.judgement import (
    describe_mismatch,
    judge_form,
    judge_left,
    judge_sharing,
    judge_values,
    keeps_output,
)
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.device import MADE_TWICE, Conditions
from harness.sandbox.wire.messages import TakeTurn

_CHEAP_BYTES = 2**26
"""Outputs of a call that are judged in full whenever there are any; larger ones take the oracle a tenth of a second."""
_SCARCE_SHARE = 0.3
"""The share of free memory below which the referee gives back what its allocator caches before a turn, except what the
next inputs take: that would come and go with each turn, and the driver clears whatever is freed (timing.settling)."""
_STAGING = 1.25
_LAST_SHARE = 0.08
"""The share of free memory below which the referee gives back that, too."""


@dataclass(eq=False)
class CaseTurns:
    """Takes turns over the buffers of one case; `worker` is the solution's."""

    setting: Setting
    buffers: Buffers
    worker: WorkerProcess
    config: Config
    conduct: Conduct = field(default_factory=Conduct)
    rng: random.Random = field(default_factory=lambda: random.Random(secrets.randbits(64)))
    weights: Weights = field(default_factory=lambda: Weights("none"))
    keeps_output: bool = False
    """True where an output lay in an earlier one's memory."""
    _are_given_back: bool = True

    @property
    def remarks(self) -> list[str]:
        remarks = []
        if self.keeps_output:
            remarks.append(
                "fragile: an output lies in the memory of an earlier call's: whoever still holds that result sees it "
                "change; .clone() what is kept between calls"
            )
        if not self._are_given_back:
            remarks.append(
                "outputs weren't seen to give torch's allocator their memory back, and there is too little to keep "
                "them beside the next call's: sharing between calls is observed only in cases with room"
            )
        return [f"{self.setting.case}: {remark}" for remark in remarks]

    @property
    def has_rows(self) -> bool:
        """True where single rows of the outputs can be judged."""
        return self.setting.oracle.rows(self.buffers.values(0)) is not None

    def construct(self) -> None:
        """Have the solution's module made, with access to the buffers. Raises: SolutionFailed."""
        self.buffers.attach(self.worker, self.config.limits.load_s)
        self.buffers.freezer.add(self.worker)
        self.buffers.freezer.thaw_only(self.worker)
        self.weights = construct_arm(self.worker, self.buffers, self.setting, self.config.limits)

    def turn(
        self,
        drawn: Sequence[Drawn],
        *,
        conditions: Conditions | None = None,
        traced: bool = False,
        launches: bool = True,
        in_reverse: bool = False,
    ) -> Taken:
        """A turn of the solution, with a call for each draw; form, sharing and unchanged inputs are judged.

        `launches`: False where the simulator is to skip what own kernels do; `in_reverse`: True where it is to begin
        with the last thread of each block. Raises: SolutionFailed.
        """
        laid = self.lay(drawn)
        taken = self.take(self.worker, laid, conditions, traced=traced, launches=launches, in_reverse=in_reverse)
        return self.accept(taken)

    def again(self, taken: Taken, conditions: Conditions) -> Taken:
        """The same inputs in the same slots once more. Raises: SolutionFailed."""
        laid = self._lay_in(taken.laid.drawn, taken.laid.slots)
        return self.accept(self.take(self.worker, laid, conditions))

    def lay(self, drawn: Sequence[Drawn]) -> Laid:
        """Fresh inputs for each call, in slots in random order: in the same way before a turn of any arm."""
        return self._lay_in(tuple(drawn), tuple(self.rng.sample(range(self.buffers.slots), len(drawn))))

    def take(
        self,
        worker: WorkerProcess,
        laid: Laid,
        conditions: Conditions | None = None,
        *,
        traced: bool = False,
        launches: bool = True,
        in_reverse: bool = False,
    ) -> Taken:
        """A turn of any arm over what was laid, while all others are frozen; then it is, too.

        `conditions`: others than those that timed turns have now. Raises: SolutionFailed.
        """
        request = TakeTurn(
            self.buffers.calls(laid.slots),
            conditions or self.conduct.conditions(),
            keeps_outputs=self.buffers.keeps_outputs,  # of all arms alike: other addresses make other times
            traced=traced,
            sample_blocks=None if launches else 0,
            sample_seed=int(in_reverse),
        )
        freezer = self.buffers.freezer
        fill_ns = self.conduct.settle()
        with self.conduct.watch(worker.pid) as watch:
            taken = take_turn(
                worker, self.buffers, request, self.config.turn_limits, wake=lambda: freezer.thaw_only(worker)
            )
            freezer.freeze()
        if worker is self.worker:
            self._require_time(taken.wall_ns)
        gpu, process_bytes = (watch.state(), watch.process_bytes) if watch else (None, None)
        return replace(taken, laid=laid, fill_ns=fill_ns, gpu=gpu, process_bytes=process_bytes)

    def _require_time(self, wall_ns: int) -> None:
        self.worker.turns_ns += wall_ns
        spent_s, most_s = self.worker.turns_ns / 1e9, self.config.limits.turns_s
        if most_s is not None and spent_s > most_s:
            raise SolutionFailed(
                Verdict.TIMEOUT, f"its turns took {spent_s:.1f} s together, and limits.turns_s allows {most_s:g} s"
            )

    def accept(self, taken: Taken) -> Taken:
        """The solution's turn if its form is right, while its processes are frozen. Raises: SolutionFailed."""
        self.reclaim()
        require_originals(taken.answered.patched)
        # A graph's outputs are its own, and stay.
        is_graph = taken.asked.conditions.metric == "graph"
        if not self.buffers.keeps_outputs and not self.setting.spec.is_kept and not is_graph:
            self._are_given_back &= all(call.is_given_back for call in taken.answered.calls)
        for call, one in zip(taken.answered.calls, taken.laid.drawn, strict=True):
            with at(self.setting.case, one):
                try:
                    judge_form(call, self.setting.spec)
                except SolutionFailed as error:
                    if error.verdict is Verdict.WRONG_SHAPE:
                        self._require_lasting_shapes(one)
                    raise
                judge_sharing(call, self.setting.spec, may_keep=self.config.correctness.fragile == "remark")
                self.keeps_output |= keeps_output(call, self.setting.spec)
        self._require_unchanged(taken)
        return taken

    def _require_lasting_shapes(self, drawn: Drawn) -> None:
        """Require that the reference's outputs have their usual shapes for these inputs, too, as far as memory permits.
        Raises: InvalidProblem."""
        with contextlib.suppress(torch.OutOfMemoryError, MemoryError):
            self.setting.require_shapes(self.setting.oracle.native(make_inputs(self.setting, drawn)))

    def judge(self, taken: Taken, call: int, scope: Scope) -> Check:
        """Judge every value of one call, against inputs made anew: those in the shared buffers may be the worker's.
        Raises: UnfairVariant."""
        drawn = taken.laid.drawn[call]
        inputs = make_inputs(self.setting, drawn)
        got = self.buffers.outputs(taken.laid.slots[call])
        compared = judge_values(got, inputs, self.setting, drawn.tolerances)
        del inputs
        self._give_back_if_scarce()
        return self.setting.check(drawn.seed, scope, compared, drawn.variant.words if drawn.variant else None)

    def judge_row(self, taken: Taken, row: KeptRow, scope: Scope) -> Check:
        """Judge one row of one call's outputs; where it is wrong, the whole call, in which the reference may err by
        more, unless the row has changed meanwhile."""
        got = self._row_of_outputs(taken, row)
        drawn = taken.laid.drawn[row.call]
        compared = judge_values(got, row.inputs, self.setting, drawn.tolerances)
        check = self.setting.check(drawn.seed, scope, tuple(_moved(one, row.row) for one in compared))
        if check.passed:
            return check
        whole = self.judge(taken, row.call, "complete" if scope == "row" else scope)
        pairs = zip(got, self._row_of_outputs(taken, row), strict=True)
        return whole if all(torch.equal(_bits(one), _bits(two)) for one, two in pairs) else check

    def _row_of_outputs(self, taken: Taken, row: KeptRow) -> list[torch.Tensor]:
        """A copy of a row of one call's outputs."""
        return [output[row.row : row.row + 1].clone() for output in self.buffers.outputs(taken.laid.slots[row.call])]

    def shown_by(self, taken: Taken, call: int, show: Callable[..., str | None]) -> str | None:
        """Have a function of `computed_in` look at a call's values; None also where memory is short."""
        try:
            drawn = taken.laid.drawn[call]
            outputs = self.buffers.outputs(taken.laid.slots[call])
            return show(self.setting, make_inputs(self.setting, drawn), outputs)
        except (torch.OutOfMemoryError, MemoryError):
            return None
        finally:
            self._give_back_if_scarce()

    def row_of(self, taken: Taken, call: int) -> KeptRow | None:
        """A random row of what a call was given, made anew; None where all of its outputs are judged: where rows
        aren't independent, and where there is little to judge."""
        if not self.setting.reference.on_gpu or self.setting.spec.nbytes < _CHEAP_BYTES:
            return None
        return self._row(make_inputs(self.setting, taken.laid.drawn[call]), call)

    def keep_row(self, laid: Laid) -> KeptRow | None:
        """A random row of a random call's inputs, so that it can be judged cheaply; None where rows aren't
        independent."""
        call = self.rng.randrange(len(laid.slots))
        return self._row(self.buffers.values(laid.slots[call]), call)

    def reclaim(self) -> None:
        """Have the workers give back what they keep for later, where memory is short: between their turns, since these
        are timed and watched. Raises: SolutionFailed."""
        if not self.buffers.is_short:
            return
        for worker in self.buffers.workers:
            self.buffers.freezer.thaw_only(worker)
            give_back(worker, self.config.limits)
        self.buffers.freezer.freeze()

    def _lay_in(self, drawn: tuple[Drawn, ...], slots: tuple[int, ...]) -> Laid:
        self.reclaim()
        self.buffers.freezer.freeze()  # until the turn begins: nobody has its inputs before
        for one, slot in zip(drawn, slots, strict=True):
            self.buffers.lay_inputs(make_inputs(self.setting, one), slot)
        self._give_back_if_scarce()
        imprints = ({n: imprint(value) for n, value in self.buffers.inputs(slot).items()} for slot in slots)
        return Laid(drawn, slots, tuple(imprints))

    def _require_unchanged(self, taken: Taken) -> None:
        """Require that inputs are unchanged, or hold what the reference leaves in them. Raises: SolutionFailed."""
        laid = taken.laid
        for imprints, one, slot in zip(laid.imprints, laid.drawn, laid.slots, strict=True):
            contents = self.buffers.inputs(slot).items()
            touched = {number for number, content in contents if not is_unchanged(content, imprints[number])}
            with at(self.setting.case, one):
                changed = touched - self.setting.spec.changed_inputs - self.setting.state
                if changed and not self._does_reference_change(one, changed):
                    raise SolutionFailed(
                        Verdict.WRONG_VALUES,
                        f"{self._part(min(changed))} was changed by the call",
                        next_step="write into a tensor of your own (torch.empty_like(x)) instead of the input; "
                        "look for in-place operations and for writes out of bounds",
                    )
                if (touched or self.setting.state) and taken.asked.conditions.metric not in MADE_TWICE and one.decides:
                    self._require_left_alike(one, slot, touched | self.setting.state)

    def _does_reference_change(self, drawn: Drawn, numbers: Collection[int]) -> bool:
        """Say whether it changes these very inputs, which it leaves alone in others; not where memory is short."""
        with contextlib.suppress(torch.OutOfMemoryError, MemoryError):
            given, kept = make_inputs(self.setting, drawn), make_inputs(self.setting, drawn)
            self.setting.oracle.native(given)
            return not any(torch.equal(given[number], kept[number]) for number in numbers)
        return False

    def _require_left_alike(self, drawn: Drawn, slot: int, numbers: Collection[int]) -> None:
        with contextlib.suppress(torch.OutOfMemoryError, MemoryError):
            native, exact = self.setting.oracle.left_in(make_inputs(self.setting, drawn))
            for number in sorted(numbers):
                compared = judge_left(self.buffers.values(slot)[number], native[number], exact[number], self.setting)
                if not compared.passed:
                    raise SolutionFailed(
                        Verdict.WRONG_VALUES,
                        f"{self._part(number)}, which Model.forward() changes, holds other values after the call: "
                        f"{describe_mismatch(compared)}",
                        next_step="leave in it what Model.forward() leaves"
                        + ("" if number in self.setting.state else ", or what was there"),
                    )

    def _part(self, number: int) -> str:
        return [part for _, parts in self.setting.reference.leaves(number + 1) for part in parts][number]

    def _row(self, inputs: Sequence[Any], call: int) -> KeptRow | None:
        """A random row, in memory of its own; None where rows aren't independent."""
        rows = self.setting.oracle.rows(inputs)
        if rows is None:
            return None
        row = self.rng.randrange(rows.count)
        return KeptRow(call, row, rows.together(inputs, (row,)))

    def _give_back_if_scarce(self) -> None:
        """Give cached memory back where it is scarce, since the workers need it more."""
        if not self.setting.reference.on_gpu:
            return
        free, total = torch.cuda.mem_get_info()
        if free < total * _SCARCE_SHARE:  # asked first: what is cached takes torch milliseconds to say
            cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
            inputs = sum(content.nbytes for content in self.buffers.inputs().values())
            if is_to_be_given_back(cached, inputs, free, total):
                torch.cuda.empty_cache()


@contextmanager
def at(case: str, drawn: Drawn | None) -> Iterator[None]:
    """A failure inside is recorded with the case, the seed and the variant that reproduce it."""
    try:
        yield
    except SolutionFailed as error:
        stamped(error, case, drawn)
        raise


def stamped(failed: SolutionFailed, case: str, drawn: Drawn | None = None) -> SolutionFailed:
    """The failure, recorded like one that is raised inside at()."""
    failure = failed.failure
    if failure.case is None:
        reason = failure.reason
        if drawn is not None and drawn.variant is not None:
            reason = f"with {drawn.variant.words} inputs: {reason}"
        failed.failure = replace(failure, reason=reason, case=case, seed=drawn.seed if drawn is not None else None)
    return failed


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.reshape(-1).view(torch.uint8)


def _moved(comparison: OutputComparison, row: int) -> OutputComparison:
    """Give a comparison of one row alone, its row 0, that row's own number."""
    mismatches = tuple(replace(mismatch, index=(row, *mismatch.index[1:])) for mismatch in comparison.first_mismatches)
    return replace(comparison, first_mismatches=mismatches)


def is_to_be_given_back(cached: int, inputs: int, free: int, total: int) -> bool:
    """Say whether the cache is to be given back. The device's memory in bytes: `cached` by the referee's allocator,
    taken by the `inputs` of a call, `free`, and in `total`."""
    return free < total * _LAST_SHARE or (free < total * _SCARCE_SHARE and cached > _STAGING * inputs)
