"""The material of an audit: the facts of a case, and what the turns of the solution and of a baseline showed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.model.ceilings import Ceilings
from harness.model.evaluation import Work
from harness.model.trace import Trace
from harness.referee.audit.kernels import Origins
from harness.referee.audit.traced_turn import OutputSize, TracedTurn
from harness.sandbox.wire.device import KernelRun
from harness.sandbox.wire.messages import TurnTaken


@dataclass(frozen=True)
class Facts:
    """The facts of a case besides its turns.

    `on_gpu` is False on the simulator, which always traces and never times. `can_trace`: the solution's worker could be
    traced before it loaded the solution; where that wasn't tried, a baseline's turn shows it. `origins` lack what the
    baseline ran. `outputs` are those of one call, in order.
    """

    on_gpu: bool = True
    can_trace: bool = False
    origins: Origins = field(default_factory=Origins)
    outputs: tuple[OutputSize, ...] = ()
    work: Work | None = None
    ceilings: Ceilings | None = None
    is_compiled_by_torch: Callable[[str], bool] = lambda name: False
    """Says whether torch compiles a kernel of that plain name while it runs."""
    inputs_that_matter: Callable[[], float] = lambda: 0.0
    """Estimates how many bytes of the inputs the output depends on. It is slow, so it is asked only where it decides.
    """
    reference: Trace | None = None
    """The reference's operators, where no baseline is traced."""
    least_share: float = 0.0
    """The share of the device's time that own kernels must take by the config."""


@dataclass(frozen=True)
class WallTurn:
    """One timed turn: its calls, the time claimed for all of them, and the time that the referee waited."""

    calls: int
    claimed_ns: int
    wall_ns: int


@dataclass
class ArmTurns:
    walls: list[WallTurn] = field(default_factory=list)
    tails_ns: list[int] = field(default_factory=list)
    """The time that the device worked on after each timed call's outputs had been copied."""
    claimed_ns: list[tuple[int, ...]] = field(default_factory=list)
    """The times claimed for the calls of each timed turn."""
    canaries_ns: list[int] = field(default_factory=list)
    """The time of a probe fill after each turn, with no worker asked for anything."""
    traced: list[TracedTurn] = field(default_factory=list)
    traced_claims: list[tuple[int, int]] = field(default_factory=list)
    """The ns that each timed call lasted by its trace, with the ns claimed for it. Where the device was held before it,
    it lasted from mark to mark; by the host's clock, whose waiting lies between the marks, from its first row to its
    last."""
    traced_as_timed: list[TracedTurn] = field(default_factory=list)
    """The turns that were traced under a timed one's conditions."""
    rows: list[KernelRun] = field(default_factory=list)
    idle_claims_ns: list[int] = field(default_factory=list)
    """The times claimed for calls that began on an idle device."""
    idle_tails_ns: list[int] = field(default_factory=list)
    traced_calls: int = 0
    traced_turns: int = 0
    traceless_turns: int = 0
    """The number of traced turns that came back without a trace."""
    calls: int = 0
    tailless_calls: int = 0

    def note_tails(self, reply: TurnTaken, tails_ns: list[int]) -> None:
        """Append the tails of a turn's calls to `tails_ns`."""
        known = [call.tail_ns for call in reply.calls if call.tail_ns is not None]
        tails_ns += known
        self.calls += len(reply.calls)
        self.tailless_calls += len(reply.calls) - len(known)

    @property
    def claimed_call_ns(self) -> list[int]:
        """The time claimed for every timed call."""
        return [ns for turn in self.claimed_ns for ns in turn]

    @property
    def busy_ns(self) -> list[int]:
        """The time that the device worked inside each traced call."""
        return [call.busy_ns for turn in self.traced for call in turn.calls]


@dataclass(frozen=True)
class Observed:
    """All that an audit is given. `median_ns` is that of the solution's timed calls, None where nothing was timed."""

    solution: ArmTurns = field(default_factory=ArmTurns)
    baseline: ArmTurns = field(default_factory=ArmTurns)
    facts: Facts = Facts()
    median_ns: float | None = None


Audit = Callable[[Observed], tuple[str, ...]]
"""Returns remarks; raises SolutionFailed with the evidence of what no honest solution does."""
