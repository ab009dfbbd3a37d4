"""A case at its table: the buffers for a few calls at once, and the solution's turns over them.

Correctness and timing take their turns here, at the same table and with the same construction of the module. What a
solution is given doesn't tell which kind of turn it is in; the worker's process around it does (SECURITY.md), and so
what is compared is drawn anew for every turn, and chosen in this process.
"""

from __future__ import annotations

import dataclasses
import random
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from harness.devices.base import Host
from harness.model.arms import Metric
from harness.model.check import Check, OutputComparison, Scope
from harness.model.config import Config
from harness.model.verdict import Verdict
from harness.referee.audit.claims import require_originals
from harness.referee.inputs.draws import Drawn, make_inputs
from harness.referee.judgement import judge_form, judge_sharing, judge_values
from harness.referee.setting import Setting
from harness.referee.table.imprint import imprint, is_unchanged
from harness.referee.table.size import TableSize
from harness.referee.table.stillness import Stillness
from harness.referee.table.table import Table
from harness.referee.table.turns import Weights, construct_arm, give_back, take_turn
from harness.referee.timing.pacing import HOLD_NS, Pacing
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.device import Conditions
from harness.sandbox.wire.messages import CallTaken, TurnTaken

_KEPT_SHARE = 0.05
"""Outputs up to this share of the device's memory can be kept alive beside the next call's ..."""
_KEPT_SHARE_OF_FREE = 0.2
"""... if they take no more of what the table leaves."""
_CHEAP_BYTES = 2**26
"""Outputs of a call that are judged in full whenever there are any; larger ones take the oracle a tenth of a second."""
_SCARCE_SHARE = 0.3
"""With less of the memory free, the referee gives back what its allocator caches before a turn, but for what the next
inputs take: that would come and go with each turn, and the driver clears whatever is freed (timing.quiet)."""
_STAGING = 1.25
_LAST_SHARE = 0.08
"""With less than this free, the referee gives back that, too."""

_HELD = Conditions(hold_ns=HOLD_NS)
"""For late inputs, in a case that isn't timed."""


@dataclass(frozen=True)
class Laid:
    """What lies ready for a turn: a draw for each call, its place at the table, and what its inputs look like."""

    drawn: tuple[Drawn, ...]
    places: tuple[int, ...]
    imprints: list[dict[int, tuple[torch.Tensor, ...]]]


@dataclass(frozen=True)
class Taken:
    """One turn of the solution whose form is right: what each call was given, and where."""

    reply: TurnTaken
    wall_ns: int
    drawn: tuple[Drawn, ...]
    places: tuple[int, ...]
    conditions: Conditions
    row: KeptRow | None = None


@dataclass(frozen=True)
class KeptRow:
    """A row of the inputs of one call, kept by the referee."""

    call: int
    row: int
    inputs: list[Any]


class SeatedCase:
    """Made by `seat_case`."""

    def __init__(
        self, setting: Setting, table: Table, worker: WorkerProcess, config: Config, is_short: bool = False
    ) -> None:
        self.setting = setting
        self.table = table
        self.worker = worker
        self.config = config
        self._is_short = is_short
        self.stillness = Stillness()
        self.pacing: Pacing | None = None
        """Of the case that is timed."""
        self.watching: Callable[[], AbstractContextManager[object]] = nullcontext
        """Somebody who looks on while a turn is taken."""
        self.settled: Callable[[], object] = lambda: None
        """Waits until nothing is left on the device that would slow the turn for which all lies ready."""
        self.rng = random.Random(secrets.randbits(64))
        self.keeps_outputs = _outputs_can_be_kept(setting)
        self.weights = Weights("none")
        self._changes_inputs: bool | None = None
        self._are_given_back = True

    @property
    def remarks(self) -> list[str]:
        """On the turns so far."""
        if self._are_given_back:
            return []
        return [
            f"{self.setting.case}: outputs weren't seen to give torch's allocator their memory back, and there is too "
            f"little to keep them beside the next call's: sharing between calls is observed only in cases with room"
        ]

    @property
    def has_rows(self) -> bool:
        """Whether single rows of the outputs can be judged."""
        return self.setting.oracle.rows(self.table.values(0), self.setting.spec) is not None

    def seat_solution(self) -> None:
        """Raises: SolutionFailed."""
        self.table.seat(self.worker, self.config.limits.load_s)
        self.stillness.join(self.worker)
        self.stillness.only(self.worker)
        self.weights = construct_arm(self.worker, self.table, self.setting, self.config.limits)

    def lay(self, drawn: Sequence[Drawn]) -> Laid:
        """Fresh inputs for each call, at places in random order: in the same way before a turn of any arm."""
        return self._lay_at(tuple(drawn), tuple(self.rng.sample(range(self.table.places), len(drawn))))

    def turn(
        self,
        drawn: Sequence[Drawn],
        *,
        traced: bool = False,
        keeps_row: bool = False,
        at_rest: Callable[[], None] = lambda: None,
        conditions: Conditions | None = None,
        launches: bool = True,
    ) -> Taken:
        """A turn of the solution, with a call for each draw. Form, sharing and unchanged inputs are judged, while the
        solution's processes stand still.

        `keeps_row`: keep a random row of a random call's inputs, so that it can be judged cheaply. `at_rest` is called
        as soon as they stand still. `conditions`: others than those that timed turns have now. `launches`: False
        where the simulator is to skip what own kernels do. Raises: SolutionFailed.
        """
        return self._turn_over(self.lay(drawn), traced, keeps_row, at_rest, conditions, launches)

    def conditions(self, metric: Metric | None = None) -> Conditions:
        """Of the next timed turn, whoever takes it."""
        return self.pacing.conditions(metric) if self.pacing else Conditions()

    def late(self) -> Conditions:
        """As of a timed turn, but with inputs that come late."""
        return dataclasses.replace(self.pacing.conditions("gpu_cold") if self.pacing else _HELD, late_inputs=True)

    def again(self, taken: Taken, conditions: Conditions) -> Taken:
        """The same inputs at the same places once more."""
        return self._turn_over(self._lay_at(taken.drawn, taken.places), conditions=conditions)

    def judge(self, taken: Taken, call: int, scope: Scope) -> Check:
        """Every value of one call, against inputs made anew: what lies in the shared buffers may be the worker's."""
        drawn = taken.drawn[call]
        inputs = make_inputs(self.setting, drawn)
        compared = judge_values(self.table.outputs(taken.places[call]), inputs, self.setting, drawn.tolerances)
        del inputs
        self._give_back_if_scarce()
        return self.setting.check(drawn.seed, scope, compared, drawn.variant.words if drawn.variant else None)

    def judge_row(self, taken: Taken, row: KeptRow, scope: Scope) -> Check:
        """One row of one call's outputs; the others are not compared."""
        got = [output[row.row : row.row + 1] for output in self.table.outputs(taken.places[row.call])]
        drawn = taken.drawn[row.call]
        compared = judge_values(got, row.inputs, self.setting, drawn.tolerances)
        return self.setting.check(drawn.seed, scope, tuple(_moved(one, row.row) for one in compared))

    def row_of(self, taken: Taken, call: int) -> KeptRow | None:
        """A random row of what a call was given, made anew; None where all of its outputs are judged: where rows
        aren't independent, and where there is little to judge."""
        if not self.setting.reference.on_gpu or self.setting.spec.nbytes < _CHEAP_BYTES:
            return None
        return self._row(make_inputs(self.setting, taken.drawn[call]), call)

    def reclaim(self) -> None:
        """Where memory is short, have the workers give back what they keep for later: not within their turns, which
        are timed and watched, but between them. Raises: SolutionFailed."""
        if not self._is_short:
            return
        for worker in self.table.workers:
            self.stillness.only(worker)
            give_back(worker, self.config.limits)
        self.stillness.only(None)

    def _lay_at(self, drawn: tuple[Drawn, ...], places: tuple[int, ...]) -> Laid:
        self.reclaim()
        self.stillness.only(None)  # until the turn begins: nobody has its inputs before
        for one, place in zip(drawn, places, strict=True):
            self.table.lay_inputs(make_inputs(self.setting, one), place)
        self._give_back_if_scarce()
        imprints = [{n: imprint(value) for n, value in self.table.inputs(place).items()} for place in places]
        return Laid(drawn, places, imprints)

    def _turn_over(
        self,
        laid: Laid,
        traced: bool = False,
        keeps_row: bool = False,
        at_rest: Callable[[], None] = lambda: None,
        conditions: Conditions | None = None,
        launches: bool = True,
    ) -> Taken:
        drawn, places = laid.drawn, laid.places
        row = self._keep_row(places) if keeps_row else None
        conditions = conditions or self.conditions()
        self.settled()
        with self.watching():
            timed = take_turn(
                self.worker,
                self.table,
                self.config.turn_limits,
                places,
                conditions=conditions,
                traced=traced,
                keeps_outputs=self.keeps_outputs,
                sample_blocks=None if launches else 0,
                wake=lambda: self.stillness.only(self.worker),
            )
            self.stillness.only(None)
        at_rest()
        self.reclaim()
        require_originals(timed.reply.patched)
        # A graph's outputs are its own, and stay.
        if not self.keeps_outputs and not self.setting.spec.is_kept and conditions.metric != "graph":
            self._are_given_back &= all(call.is_given_back for call in timed.reply.calls)
        for call, one in zip(timed.reply.calls, drawn, strict=True):
            with at(self.setting.case, one):
                self._judge_reply(call)
        self._require_unchanged(laid)
        return Taken(timed.reply, timed.wall_ns, drawn, places, conditions, row)

    def _judge_reply(self, call: CallTaken) -> None:
        judge_form(call, self.setting.spec)
        judge_sharing(call, self.setting.spec)

    def _require_unchanged(self, laid: Laid) -> None:
        for imprints, one, place in zip(laid.imprints, laid.drawn, laid.places, strict=True):
            for number, content in self.table.inputs(place).items():
                if is_unchanged(content, imprints[number]) or self._reference_changes_inputs():
                    continue
                with at(self.setting.case, one):
                    raise SolutionFailed(
                        Verdict.WRONG_VALUES,
                        f"input {number} was changed by the call",
                        next_step="write into a tensor of your own (torch.empty_like(x)) instead of the input; "
                        "look for in-place operations and for writes out of bounds",
                    )

    def _reference_changes_inputs(self) -> bool:
        """Asked only where a solution did: the reference may work in place itself."""
        if self._changes_inputs is None:
            seed = self.setting.seed("inputs", "changed")
            given, kept = (self.setting.reference.make_inputs(seed) for _ in range(2))
            self.setting.oracle.native(given)
            pairs = [(one, two) for one, two in zip(given, kept, strict=True) if isinstance(one, torch.Tensor)]
            self._changes_inputs = not all(torch.equal(one, two) for one, two in pairs)
        return self._changes_inputs

    def _keep_row(self, places: Sequence[int]) -> KeptRow | None:
        call = self.rng.randrange(len(places))
        return self._row(self.table.values(places[call]), call)

    def _row(self, inputs: Sequence[Any], call: int) -> KeptRow | None:
        """A random row, in memory of its own; None where rows aren't independent."""
        rows = self.setting.oracle.rows(inputs, self.setting.spec)
        if rows is None:
            return None
        row = self.rng.randrange(rows.count)
        return KeptRow(call, row, rows.together(inputs, (row,)))

    def _give_back_if_scarce(self) -> None:
        """The workers need the memory more."""
        if self.setting.reference.on_gpu:
            cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
            inputs = sum(content.nbytes for content in self.table.inputs().values())
            if is_to_be_given_back(cached, inputs, *torch.cuda.mem_get_info()):
                torch.cuda.empty_cache()


@contextmanager
def seat_case(
    setting: Setting, host: Host, worker: WorkerProcess, config: Config, size: TableSize
) -> Iterator[SeatedCase]:
    """A table with places for as many calls as memory permits; the solution is not seated yet."""
    inputs = setting.reference.make_inputs(setting.seed("inputs"))
    if setting.oracle.find_rows(inputs, setting.spec):
        inputs = setting.reference.make_inputs(setting.seed("inputs"))
    if setting.reference.on_gpu:
        torch.cuda.empty_cache()
    seating = size.seating(setting, inputs)
    with Table(host, setting.spec, seating.places) as table:
        for place in range(table.places):
            table.lay_inputs(inputs, place)
        del inputs
        if setting.reference.on_gpu:
            torch.cuda.empty_cache()
        case = SeatedCase(setting, table, worker, config, seating.is_short)
        with case.stillness:
            yield case


@contextmanager
def at(case: str, drawn: Drawn | None) -> Iterator[None]:
    """A failure inside is recorded with the case, the seed and the variant that reproduce it."""
    try:
        yield
    except SolutionFailed as error:
        failure = error.failure
        if failure.case is None:
            reason = failure.reason
            if drawn is not None and drawn.variant is not None:
                reason = f"with {drawn.variant.words} inputs: {reason}"
            error.failure = dataclasses.replace(
                failure, reason=reason, case=case, seed=drawn.seed if drawn is not None else None
            )
        raise


def seeds_of(setting: Setting, *purpose: object) -> Callable[[], int]:
    """A new seed at every call, all of them following from the master seed."""
    numbers = iter(range(2**62))
    return lambda: setting.seed("inputs", *purpose, next(numbers))


def _moved(comparison: OutputComparison, row: int) -> OutputComparison:
    """Of row 0 alone, said of the row that it is."""
    mismatches = tuple(
        dataclasses.replace(mismatch, index=(row, *mismatch.index[1:])) for mismatch in comparison.first_mismatches
    )
    return dataclasses.replace(comparison, first_mismatches=mismatches)


def is_to_be_given_back(cached: int, inputs: int, free: int, total: int) -> bool:
    """All in bytes, of the device's memory: cached by the referee's allocator, taken by the inputs of a call, free."""
    return free < total * _LAST_SHARE or (free < total * _SCARCE_SHARE and cached > _STAGING * inputs)


def _outputs_can_be_kept(setting: Setting) -> bool:
    if not setting.reference.on_gpu:
        return True
    free, total = torch.cuda.mem_get_info()
    return setting.spec.nbytes <= min(total * _KEPT_SHARE, free * _KEPT_SHARE_OF_FREE)
