"""The audit of one solution on one case: what is impossible ends it at once, what adds up is judged at the end."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.model.arms import ArmName
from harness.model.trace import Trace
from harness.referee.audit.around_calls import Surroundings
from harness.referee.audit.claims import require_originals, require_plausible
from harness.referee.audit.custom import TracedCase, require_custom
from harness.referee.audit.facts import Facts
from harness.referee.audit.idle_gpu import is_shared, require_idle
from harness.referee.audit.kernels import Origins, shortened, summarize
from harness.referee.audit.phases import require_even_work, require_same_work
from harness.referee.audit.roofline import Moved, require_possible
from harness.referee.audit.tail import require_quiet_end, require_tails
from harness.referee.audit.timeline import (
    Timeline,
    TracedCall,
    read_timeline,
    require_measured,
    require_nothing_outside,
)
from harness.referee.audit.wall_clock import WallTurn, require_explained
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.device import KernelRun
from harness.sandbox.wire.messages import TurnTaken

_Check = Callable[[], "tuple[str, ...] | None"]
"""Returns remarks, if any; raises SolutionFailed."""


@dataclass(frozen=True)
class Audited:
    """What goes into the record of a solution that is no deception. `accused`: why its work was not its own."""

    trace: Trace | None
    remarks: tuple[str, ...]
    accused: SolutionFailed | None = None

    def as_case(self, case: str, is_compared: bool) -> TracedCase:
        return TracedCase(case, is_compared, self.trace, self.accused)


@dataclass
class _Seen:
    """What one arm's turns gave."""

    walls: list[WallTurn] = field(default_factory=list)
    tails_ns: list[int] = field(default_factory=list)
    claimed_ns: list[tuple[int, ...]] = field(default_factory=list)
    canaries_ns: list[int] = field(default_factory=list)
    timelines: list[Timeline] = field(default_factory=list)
    traced_claims: list[tuple[TracedCall, int]] = field(default_factory=list)
    rows: list[KernelRun] = field(default_factory=list)
    idle_claims_ns: list[int] = field(default_factory=list)
    idle_tails_ns: list[int] = field(default_factory=list)
    traced_calls: int = 0
    traced_turns: int = 0
    traceless_turns: int = 0
    """Of the traced ones."""
    calls: int = 0
    tailless_calls: int = 0

    def note_tails(self, reply: TurnTaken, tails_ns: list[int]) -> None:
        told = [call.tail_ns for call in reply.calls if call.tail_ns is not None]
        tails_ns += told
        self.calls += len(reply.calls)
        self.tailless_calls += len(reply.calls) - len(told)

    @property
    def claimed_call_ns(self) -> list[int]:
        """Of every timed call."""
        return [ns for turn in self.claimed_ns for ns in turn]


class Auditor:
    """`check`, `turn`, `trace` and `rest` as turns are taken, `finish` once at the end."""

    def __init__(self, case: str, baseline: ArmName = "eager", facts: Facts = Facts()) -> None:
        """`baseline`: the arm that the solution is held against."""
        self._case = case
        self._baseline = baseline
        self._facts = facts
        self._seen: dict[ArmName, _Seen] = defaultdict(_Seen)
        self.found: Trace | None = None
        """The solution's trace as soon as finish() has read it, however that ends."""

    def turn(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int) -> None:
        """A turn that is timed. Raises: SolutionFailed for claims that can't be true."""
        if arm == "solution":
            require_originals(reply.patched)
        claimed = require_plausible([call.gpu_ns for call in reply.calls], calls, wall_ns)
        seen = self._seen[arm]
        seen.walls.append(WallTurn(calls, sum(claimed), wall_ns))
        seen.claimed_ns.append(claimed)
        seen.note_tails(reply, seen.tails_ns)

    def trace(self, arm: ArmName, calls: int, reply: TurnTaken, wall_ns: int, is_idle: bool = False) -> None:
        """A traced turn; its times count as samples of nothing. Raises: SolutionFailed."""
        seen = self._seen[arm]
        if arm == "solution":
            require_originals(reply.patched)
        claimed: tuple[int, ...] = ()
        if self._facts.on_gpu:
            claimed = require_plausible([call.gpu_ns for call in reply.calls], calls, wall_ns)
        seen.traced_turns += 1
        if reply.kernels is None:
            seen.traceless_turns += 1
            return
        seen.traced_calls += calls
        if not self._facts.on_gpu:  # the simulator's rows know no times
            seen.rows += reply.kernels
            return
        try:
            timeline = read_timeline(reply.kernels, calls, self._surroundings(is_idle))
        except SolutionFailed:
            if arm == "solution":
                raise
            return  # a baseline has nothing to hide: the tracer lost rows
        seen.timelines.append(timeline)
        if not is_idle:  # else the host's own time lies between the marks
            seen.traced_claims += zip(timeline.calls, claimed, strict=False)  # none where calls aren't measured
        seen.rows += [row for call in timeline.calls for row in call.rows]

    def check(self, reply: TurnTaken, wall_ns: int, is_traced: bool) -> None:
        """A turn of the solution that isn't timed, whose calls began on an idle device: what they leave on streams that
        nobody waits for comes after their end there, and not at their beginning. Raises: SolutionFailed."""
        if is_traced:
            self.trace("solution", len(reply.calls), reply, wall_ns, is_idle=True)
        elif self._facts.on_gpu:
            require_plausible([call.gpu_ns for call in reply.calls], len(reply.calls), wall_ns)
        seen = self._seen["solution"]
        seen.idle_claims_ns += [call.gpu_ns for call in reply.calls if call.gpu_ns is not None]
        seen.note_tails(reply, seen.idle_tails_ns)

    def rest(self, canary_ns: int, after: ArmName = "solution") -> None:
        """How long a canary took after a turn of this arm, with no worker asked for anything."""
        self._seen[after].canaries_ns.append(canary_ns)

    def finish(self, median_ns: float | None = None) -> Audited:
        """judge(), of a case that decides alone. Raises: SolutionFailed: `cheating` as judge() does, or
        `no_custom_kernel`."""
        audited = self.judge(median_ns)
        if audited.accused:
            raise audited.accused
        return audited

    def judge(self, median_ns: float | None = None) -> Audited:
        """`median_ns`: of the solution's timed calls, None where nothing was timed.

        Raises: SolutionFailed: `cheating` with everything that was found.
        """
        solution, baseline = self._seen["solution"], self._seen[self._baseline]
        reference = self._summary(self._baseline, Origins()) if baseline.rows else self._facts.reference
        symbols = frozenset(row.name for row in baseline.rows if row.kind == "kernel")
        origins = Origins(self._facts.own, symbols, self._facts.in_framework, self._facts.is_left_to_torch)
        whole = self._summary("solution", origins) if solution.traced_calls else None
        self.found = whole and shortened(whole)
        remarks: list[str] = []
        _require_all(self._checks(solution, baseline, median_ns), remarks)
        if self._is_traceless(solution):
            remarks.append("no trace can be had here, so it isn't known whose kernels ran")
        remarks += self._namesakes()
        remarks = [f"{self._case}: {remark}" for remark in remarks]
        if whole is None:
            return Audited(None, tuple(remarks))
        try:
            remarks += require_custom(whole, reference, self._facts.least_share)
        except SolutionFailed as accused:
            return Audited(self.found, tuple(remarks), accused)
        return Audited(self.found, tuple(remarks))

    def _surroundings(self, is_idle: bool) -> Surroundings:
        ceilings = self._facts.ceilings
        return Surroundings(self._facts.outputs, is_idle, ceilings.copy_bytes_per_s if ceilings else None)

    def _namesakes(self) -> list[str]:
        """A remark on own kernels that are called as torch's are: whose they are, the solution's text says alone."""
        kernels = self.found.kernels if self.found else ()
        names = [kernel.name for kernel in kernels if kernel.origin == "own"]
        alike = ", ".join(name for name in names if self._facts.is_compiled_by_torch(name))
        return [f"torch has kernels of the same name as the solution's own: {alike}"] if alike else []

    def _is_traceless(self, solution: _Seen) -> bool:
        return self.found is None and solution.traced_turns > 0

    def _checks(self, solution: _Seen, baseline: _Seen, median_ns: float | None) -> Sequence[_Check]:
        """What is judged at the end, each on its own: a deception is often found by several."""
        checks: list[_Check] = [lambda: self._require_traces(solution, baseline)]
        if self._facts.on_gpu:
            checks.append(lambda: require_tails(solution.calls, solution.tailless_calls))
        checks += [
            lambda timeline=timeline: require_nothing_outside(timeline)  # type: ignore[misc]
            for timeline in solution.timelines
        ]
        others = is_shared(baseline.canaries_ns)
        checks.append(lambda: require_measured(solution.traced_claims, baseline.traced_claims, others))
        checks.append(lambda: require_idle(solution.canaries_ns, baseline.canaries_ns))
        busy_ns = [[call.busy_ns for call in timeline.calls] for timeline in solution.timelines]
        all_busy_ns = [ns for turn in busy_ns for ns in turn]
        if solution.idle_claims_ns:
            idle_ns = statistics.median(solution.idle_claims_ns)
            checks += [
                lambda: require_quiet_end(solution.idle_tails_ns, baseline.tails_ns, idle_ns),
                lambda: require_same_work(all_busy_ns, idle_ns),
            ]
        checks.append(lambda: require_even_work(busy_ns, solution.claimed_ns, baseline.claimed_ns))
        if not solution.claimed_ns:
            return checks
        claimed_ns = statistics.median(solution.claimed_call_ns)
        checks += [
            lambda: require_explained(solution.walls, baseline.walls, _allowance_ns(solution, baseline)),
            lambda: require_quiet_end(solution.tails_ns, baseline.tails_ns, claimed_ns),
            lambda: require_same_work(all_busy_ns, claimed_ns),
        ]
        if median_ns is not None:
            checks.append(lambda: self._require_possible(median_ns, baseline))
        return checks

    def _require_traces(self, solution: _Seen, baseline: _Seen) -> None:
        """Raises: SolutionFailed for traced turns without a trace, where there could be one: as the simulator always
        has, the worker had before it loaded the solution, the baseline's process has, or the solution's in another."""
        could_be = not self._facts.on_gpu or self._facts.can_trace or baseline.traced_calls or solution.traced_calls
        if could_be and solution.traceless_turns:
            raise SolutionFailed.cheating(
                "trace",
                f"no trace came from {solution.traceless_turns} of the {solution.traced_turns} turns that were traced, "
                "though there can be one here: it was switched off",
                traced_turns=solution.traced_turns,
                turns_without=solution.traceless_turns,
            )

    def _require_possible(self, median_ns: float, baseline: _Seen) -> tuple[str, ...]:
        """Remarks. Raises: SolutionFailed."""
        facts = self._facts
        if facts.work is None or facts.ceilings is None:
            return ()
        baseline_ns = statistics.median(baseline.claimed_call_ns) if baseline.claimed_call_ns else None
        moved = Moved(facts.work, facts.output_bytes, facts.inputs_that_matter)
        return require_possible(median_ns, baseline_ns, moved, facts.ceilings)

    def _summary(self, arm: ArmName, origins: Origins) -> Trace:
        seen = self._seen[arm]
        return summarize(self._case, seen.traced_calls, seen.rows, origins)


def _require_all(checks: Sequence[_Check], remarks: list[str]) -> None:
    """Raises: SolutionFailed: the first, with the evidence of all, one of each check."""
    failures: list[SolutionFailed] = []
    for check in checks:
        try:
            remarks += check() or ()
        except SolutionFailed as error:
            failures.append(error)
    if not failures:
        return
    found = {item.check: item for error in reversed(failures) for item in error.failure.evidence}
    evidence = tuple(reversed(found.values()))
    failures[0].failure = dataclasses.replace(failures[0].failure, evidence=evidence)
    raise failures[0]


def _allowance_ns(solution: _Seen, baseline: _Seen) -> float:
    """What storing outputs of an unusual layout takes longer, as the traces show it of the device's own kernels."""
    ours, theirs = (
        statistics.median([timeline.strided_ns for timeline in seen.timelines]) if seen.timelines else 0.0
        for seen in (solution, baseline)
    )
    return max(0.0, 1.1 * ours - theirs)
