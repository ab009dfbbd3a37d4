"""What compiling a baseline took, and what came of it."""

from __future__ import annotations

import math

from pydantic.dataclasses import dataclass

from harness.model.arms import Baseline
from harness.model.record import RECORD


@dataclass(frozen=True, config=RECORD)
class CompiledBaseline:
    """`compile_s`: by the referee's clock, how much longer the first call took than the second. The counts are torch's
    own, up to the end of the timing, but for CUDA graphs; None of what this torch doesn't count. Where a measurement
    had fresh processes (timing.processes) all of it is of the first ones, which compiled before anybody else did."""

    baseline: Baseline
    compile_s: float
    graphs: int | None
    """0 where torch compiled nothing, so that the reference ran as eager."""
    graph_breaks: int | None
    recompilations: int | None

    def __post_init__(self) -> None:
        if not 0 <= self.compile_s < math.inf:
            raise ValueError("compiling takes a time")
        if any(count is not None and count < 0 for count in (self.graphs, self.graph_breaks, self.recompilations)):
            raise ValueError("graphs, their breaks and recompilations are counted")
