"""The audit of one solution on one case: the impossible ends it at once, evidence that adds up is judged at the end.

To add an audit, write a function of the form `observed.Audit` in a file of this folder and append it to AUDITS.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import defaultdict
from pathlib import Path
from statistics import median

from harness.model.arms import ArmName
from harness.model.evaluation import Work
from harness.model.trace import Trace
from harness.referee.audit import idle_gpu, impossible_speed, phases, tail, trace, wall_clock
from harness.referee.audit.claims import require_originals, require_plausible
from harness.referee.audit.custom import TracedCase, require_custom
from harness.referee.audit.kernels import Origins, in_framework_libraries, own_kernels, shortened, summarize
from harness.referee.audit.observed import ArmTurns, Audit, Facts, Observed, WallTurn
from harness.referee.audit.operators import operators_of_reference
from harness.referee.audit.run_time import Written, is_compiled_by_torch
from harness.referee.audit.traced_turn import AroundCalls, TracedCall, output_sizes, read_traced_turn
from harness.referee.ceilings.ceilings import known_ceilings
from harness.referee.setting import Setting
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import TurnTaken

AUDITS: tuple[Audit, ...] = (
    trace.require_traces,
    tail.require_tails,
    trace.require_nothing_outside,
    trace.require_measured,
    idle_gpu.require_idle,
    tail.require_quiet_end_when_idle,
    phases.require_same_work_when_idle,
    phases.require_even_work,
    wall_clock.require_explained,
    tail.require_quiet_end,
    phases.require_same_work,
    impossible_speed.require_possible,
)
"""The audits. All are run, since several often find the same deception; the first that fails gives the reason."""


_LEAST_KERNEL_NS = 1_000


class Auditor:
    """Takes note of turns (`turn`, `trace`, `check`, `rest`) and judges them at the end (`judge`, `finish`)."""

    def __init__(self, case: str, baseline: ArmName = "eager", facts: Facts = Facts()) -> None:
        """`baseline` is the arm that the solution is compared with."""
        self._case = case
        self._baseline = baseline
        self._facts = facts
        self._turns: dict[ArmName, ArmTurns] = defaultdict(ArmTurns)
        self.found: Trace | None = None
        """The solution's trace as soon as judge() has read it, however that ends."""

    def turn(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int) -> None:
        """Note a timed turn, whose claims were found plausible and whose worker's functions original as it came."""
        claimed = tuple(call.gpu_ns for call in reply.calls if call.gpu_ns is not None)
        turns = self._turns[arm]
        turns.walls.append(WallTurn(calls, sum(claimed), wall_ns))
        turns.claimed_ns.append(claimed)
        turns.note_tails(reply, turns.tails_ns)

    def trace(
        self,
        arm: ArmName,
        calls: int,
        reply: TurnTaken,
        wall_ns: int,
        is_idle: bool = False,
        by_host: bool = False,
    ) -> None:
        """Note a traced turn, whose times are no samples. `by_host`: its calls are claimed by the host's clock.

        Raises: SolutionFailed.
        """
        turns = self._turns[arm]
        if arm == "solution":
            require_originals(reply.patched)
        claimed: tuple[int, ...] = ()
        if self._facts.on_gpu:
            claimed = require_plausible([call.gpu_ns for call in reply.calls], calls, wall_ns)
        turns.traced_turns += 1
        if reply.kernels is None:
            turns.traceless_turns += 1
            return
        turns.traced_calls += calls
        if not self._facts.on_gpu:  # the simulator's rows have no times
            turns.rows += reply.kernels
            return
        ceilings = self._facts.ceilings
        around = AroundCalls(self._facts.outputs, is_idle, ceilings.copy_bytes_per_s if ceilings else None)
        try:
            traced = read_traced_turn(reply.kernels, calls, around)
        except SolutionFailed:
            if arm == "solution":
                raise
            return  # a baseline has nothing to hide: the tracer lost rows
        turns.traced.append(traced)
        if not is_idle:  # else it is no turn like a timed one, and the host's own time lies between the marks
            turns.traced_as_timed.append(traced)
            lasted = [call.span_ns if by_host else call.interval_ns for call in traced.calls]
            turns.traced_claims += zip(lasted, claimed, strict=False)  # none where calls aren't measured
        turns.rows += [row for call in traced.calls for row in call.rows]

    @property
    def kernels(self) -> dict[ArmName, int]:
        """The number of kernels that a call of an arm launches, for the arms of which a traced turn could be read; no
        more than fit into its time."""
        found = {
            arm: [_kernels_of(call) for one in turns.traced for call in one.calls] for arm, turns in self._turns.items()
        }
        return {arm: max(1, round(median(counts))) for arm, counts in found.items() if counts}

    def check(self, reply: TurnTaken, wall_ns: int, is_traced: bool) -> None:
        """Note an untimed turn of the solution whose calls began on an idle device: work on streams that nobody waits
        for comes after their end there, and not at their beginning. Raises: SolutionFailed."""
        if is_traced:
            self.trace("solution", len(reply.calls), reply, wall_ns, is_idle=True)
        elif self._facts.on_gpu:
            require_plausible([call.gpu_ns for call in reply.calls], len(reply.calls), wall_ns)
        turns = self._turns["solution"]
        turns.idle_claims_ns += [call.gpu_ns for call in reply.calls if call.gpu_ns is not None]
        turns.note_tails(reply, turns.idle_tails_ns)

    def rest(self, canary_ns: int, after: ArmName = "solution") -> None:
        """Note how long a probe fill took after a turn of this arm, with no worker asked for anything."""
        self._turns[after].canaries_ns.append(canary_ns)

    def finish(self, median_ns: float | None = None) -> TracedCase:
        """Judge a case that decides alone. Raises: SolutionFailed: `cheating`, or `no_custom_kernel`."""
        audited = self.judge(median_ns)
        if audited.accused:
            raise audited.accused
        return audited

    def judge(self, median_ns: float | None = None) -> TracedCase:
        """Run all audits. `median_ns` is that of the solution's timed calls, None where nothing was timed.

        Raises: SolutionFailed: `cheating`, with the evidence of every audit.
        """
        facts, solution, baseline = self._facts, self._turns["solution"], self._turns[self._baseline]
        reference = self._summary(baseline, Origins()) if baseline.rows else facts.reference
        symbols = frozenset(row.name for row in baseline.rows if row.kind == "kernel")
        origins = dataclasses.replace(facts.origins, reference=symbols)
        whole = self._summary(solution, origins) if solution.traced_calls else None
        self.found = whole and shortened(whole)
        remarks = _run_all(Observed(solution, baseline, facts, median_ns))
        if self.found is None and solution.traced_turns > 0:
            remarks.append("no trace can be had here, so it isn't known whose kernels ran")
        remarks += self._namesakes()
        remarks = [f"{self._case}: {remark}" for remark in remarks]
        accused = None
        if whole is not None:
            try:
                remarks += require_custom(whole, reference, facts.least_share)
            except SolutionFailed as error:
                accused = error
        return TracedCase(self._case, self.found, accused, tuple(remarks))

    def _namesakes(self) -> list[str]:
        """A remark on own kernels with names of torch's: only the solution's text says whose they are."""
        kernels = self.found.kernels if self.found else ()
        names = [kernel.name for kernel in kernels if kernel.origin == "own"]
        alike = ", ".join(name for name in names if self._facts.is_compiled_by_torch(name))
        return [f"torch has kernels of the same name as the solution's own: {alike}"] if alike else []

    def _summary(self, turns: ArmTurns, origins: Origins) -> Trace:
        return summarize(self._case, turns.traced_calls, turns.rows, origins)


def gather_facts(
    setting: Setting,
    written: Written,
    work: Work | None,
    cache: Path,
    driver: str | None,
    can_trace: bool,
    least_share: float,
) -> Facts:
    """Gather the facts; `driver` is None without a GPU. Its ceilings were measured before any solution was on it."""
    own = own_kernels(written.builds)
    always = Facts(
        on_gpu=setting.on_gpu,
        can_trace=can_trace,
        origins=Origins(own),
        outputs=output_sizes(setting.spec),
        work=work,
        inputs_that_matter=functools.partial(impossible_speed.inputs_that_matter, setting),
        reference=operators_of_reference(setting),
        least_share=least_share,
    )
    if not setting.on_gpu:
        return always
    return dataclasses.replace(
        always,
        ceilings=known_ceilings(cache, driver) if driver else None,
        origins=Origins(own, in_framework=in_framework_libraries, by_torch=written.leaves_to_torch),
        is_compiled_by_torch=is_compiled_by_torch,
    )


def _kernels_of(call: TracedCall) -> int:
    return min(sum(row.kind == "kernel" for row in call.rows), call.interval_ns // _LEAST_KERNEL_NS)


def _run_all(observed: Observed) -> list[str]:
    """The remarks of all audits. Raises: SolutionFailed: the first failure, with the evidence of all, one a check."""
    remarks: list[str] = []
    failures: list[SolutionFailed] = []
    for audit in AUDITS:
        try:
            remarks += audit(observed)
        except SolutionFailed as error:
            failures.append(error)
    if not failures:
        return remarks
    found = {item.check: item for error in reversed(failures) for item in error.failure.evidence}
    evidence = tuple(reversed(found.values()))
    failures[0].failure = dataclasses.replace(failures[0].failure, evidence=evidence)
    raise failures[0]
