"""The correctness of one case: turns with inputs drawn at run time, every call of them against the oracle."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from harness.devices.base import Host
from harness.model.check import Check
from harness.model.config import Config
from harness.referee.buffers.buffers import open_buffers
from harness.referee.buffers.case_turns import CaseTurns
from harness.referee.buffers.repetition import judge_call
from harness.referee.buffers.slots import Capacity, drawn_lengths, split
from harness.referee.buffers.turns import Taken
from harness.referee.computed_in import computed_in
from harness.referee.found import CaseOutcome
from harness.referee.inputs.draws import Drawn, fair_variants, leave_out
from harness.referee.judgement import UnfairVariant, describe_finding, describe_mismatch
from harness.referee.setting import Setting
from harness.sandbox.process import WorkerProcess
from harness.sandbox.wire.device import Conditions, Finding
from harness.sandbox.wire.messages import TurnTaken

Notify = Callable[[str], None]
"""Takes a few words on what is happening."""
Watch = Callable[[TurnTaken, int, bool], None]
"""Takes a turn of the solution whose calls began on an idle device, the referee's wall clock around it, in ns, and
whether it was traced; may raise SolutionFailed."""
_IDLE = Conditions()
_LEAST_TURNS = 3
"""Turns with get_inputs()'s own inputs where no variant is tried, as of integers: else few calls were all."""


def check_case(
    setting: Setting,
    host: Host,
    worker: WorkerProcess,
    config: Config,
    notify: Notify,
    watch: Watch | None,
) -> CaseOutcome:
    """Judge the worker's module on one case. With `watch` a turn, secretly chosen, is traced; not the first, in which a
    solution may choose among kernels.

    Raises: SolutionFailed where no comparison came about.
    """
    with open_buffers(setting, host, Capacity()) as buffers:
        case = CaseTurns(setting, buffers, worker, config)
        outcome = begin_case(case, notify)
        take_first(case, outcome, 0)
        check_turns(case, outcome, buffers.slots, notify, watch)
        return outcome


def begin_case(case: CaseTurns, notify: Notify) -> CaseOutcome:
    """Have the module made. Raises: SolutionFailed."""
    case.construct()
    notify(f"checking {case.setting.case}")
    return CaseOutcome(case.weights)


def take_first(case: CaseTurns, outcome: CaseOutcome, number: int) -> Taken:
    """Take a call by itself, before all others, with inputs that come late. Raises: SolutionFailed."""
    taken = case.turn([Drawn(case.setting.seed("inputs", "first", number))], conditions=case.conduct.late())
    outcome.add(*judge_call(case, taken, 0, "complete"))
    return taken


def check_turns(case: CaseTurns, outcome: CaseOutcome, most_calls: int, notify: Notify, watch: Watch | None) -> None:
    """Judge the solution, unless it has failed: turns with get_inputs()'s own inputs, then turns with the variants.

    Raises: SolutionFailed where no comparison came about.
    """
    if outcome.failed:
        outcome.remarks += case.remarks
        return
    findings: list[Finding] = []
    for number, (drawn, is_traced) in enumerate(_turns(case, outcome, most_calls, notify)):
        findings += _judge_turn(case, outcome, number, drawn, watch, is_traced)
        if outcome.failed:
            break
    name, oracle = case.setting.case, case.setting.oracle
    outcome.remarks[:0] = [*(f"{name}: {describe_finding(finding)}" for finding in findings), *case.remarks]
    if oracle.why_float32:
        outcome.remarks.append(oracle.why_float32)
    overflows = any("times 2^20" in (one.variant or "") and _is_infinite_first(one) for one in outcome.fragile)
    if outcome.computed_in == "tf32" and overflows:
        outcome.computed_in = "float16"
    outcome.keeps_output = case.keeps_output


def _turns(
    case: CaseTurns, outcome: CaseOutcome, most_calls: int, notify: Notify
) -> Iterator[tuple[Sequence[Drawn], bool]]:
    """Yield the draws of each turn, and whether it may be traced."""
    count = case.config.correctness.seeds
    rng = random.Random(case.setting.seed("turns"))  # what solutions see anyway: a seed repeats it
    turns = list(islice(drawn_lengths(most_calls, rng), count))
    traced = case.rng.randrange(count)
    seeds = case.setting.seeds("correctness")
    for index, calls in enumerate(turns):
        notify(f"checking {case.setting.case} {index + 1}/{count}")
        yield [Drawn(next(seeds)) for _ in range(calls)], index == traced
    if case.setting.repeat not in case.setting.lessons.variants:
        notify(f"trying the reference of {case.setting.case} with other inputs")
    variants = fair_variants(case.setting)
    for _ in range(0 if variants.drawn else _LEAST_TURNS - count):
        yield [Drawn(next(seeds)) for _ in range(most_calls)], False
    outcome.remarks += variants.remarks
    far = [one for one in variants.drawn if not one.decides]
    near = [one for one in variants.drawn if one.decides]
    for drawn in (*_in_turns(near, most_calls, rng), *_in_turns(far, most_calls, rng)):
        notify(f"checking {case.setting.case} with other inputs")
        yield drawn, False


def _judge_turn(
    case: CaseTurns, outcome: CaseOutcome, number: int, drawn: Sequence[Drawn], watch: Watch | None, is_traced: bool
) -> tuple[Finding, ...]:
    """Take a turn and judge each of its calls, up to the first that fails; return what the simulator saw meanwhile.

    Where outputs are large and inputs are get_inputs()'s own, one call, secretly chosen, is judged in full, and a
    random row of each other: the oracle would take longer than all the rest.

    Calls for which the device is held, as for timed ones, hide a lack of waiting: all is queued before it begins. On an
    idle device it shows what nobody waits for after the call; and late inputs, who doesn't wait before.
    """
    is_traced = is_traced and watch is not None
    is_idle = is_traced or number % 2 == 0
    taken = case.turn(drawn, traced=is_traced, conditions=_IDLE if is_idle else case.conduct.late())
    whole = case.rng.randrange(len(drawn))
    for call in range(len(drawn)):
        try:
            _judge_call(case, outcome, taken, call, is_whole=call == whole)
        except UnfairVariant:
            outcome.remarks.append(leave_out(case.setting, drawn[call]))
        if outcome.failed:
            return taken.answered.findings
    if is_idle and watch is not None and all(one.variant is None for one in drawn):
        watch(taken.answered, taken.wall_ns, is_traced)
    return taken.answered.findings


def _judge_call(case: CaseTurns, outcome: CaseOutcome, taken: Taken, call: int, is_whole: bool) -> None:
    """Judge a call of a turn. Raises: UnfairVariant."""
    one = taken.laid.drawn[call]
    if not one.decides and case.config.correctness.fragile == "remark":
        check = case.judge(taken, call, "complete")
        (outcome.checks if check.passed else outcome.fragile).append(check)
        for wrong in [output for output in check.outputs if not output.passed][:1]:
            outcome.remarks.append(f"{check.case}: fragile: with {check.variant} inputs {describe_mismatch(wrong)}")
        return
    row = None if is_whole or one.variant else case.row_of(taken, call)
    outcome.add(*judge_call(case, taken, call, "row" if row else "complete", row))
    if not outcome.failed and one.variant and one.variant.name == "few_terms":
        outcome.computed_in = case.shown_by(taken, call, computed_in)


def _is_infinite_first(check: Check) -> bool:
    return any(not math.isfinite(one.got) for output in check.outputs for one in output.first_mismatches)


def _in_turns(drawn: Sequence[Drawn], most_calls: int, rng: random.Random) -> Iterator[list[Drawn]]:
    """Yield the draws in random order, in turns of the lengths that all turns have."""
    shuffled = iter(rng.sample(drawn, len(drawn)))
    for calls in split(len(drawn), most_calls, rng):
        yield list(islice(shuffled, calls))
