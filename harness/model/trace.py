"""The kernels that ran on the device while a turn was traced."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt
from pydantic.dataclasses import dataclass

from harness.model.record import RECORD

KernelOrigin = Literal["own", "framework", "move"]
"""The origin of a kernel. `own`: the solution's. `framework`: torch's and its libraries', with what torch.compile
generates. `move`: copies, fills, casts and layout changes, which are held against nobody."""


@dataclass(frozen=True, config=RECORD)
class TracedKernel:
    """All launches of one kernel in a traced turn. `ns` is their device time together. On the simulator, which times
    nothing, `elements` are those of the tensors that an operator of torch was given."""

    name: str
    origin: KernelOrigin
    launches: PositiveInt
    ns: NonNegativeInt
    elements: NonNegativeInt = 0


@dataclass(frozen=True, config=RECORD)
class Trace:
    """The kernels of a traced turn of a case. On the simulator, which times nothing, `ns` is 0 and launches count."""

    case: str
    calls: int
    kernels: tuple[TracedKernel, ...]
    own_share: Annotated[float, Field(ge=0, le=1)] | None = None
    """The solution's kernels' share of the device time, moves included; None where nothing ran or nothing is timed. It
    follows from `kernels`, unless a record leaves out some of them."""

    def __post_init__(self) -> None:
        total = sum(kernel.ns for kernel in self.kernels)
        if self.own_share is None and total:
            own = sum(kernel.ns for kernel in self.kernels if kernel.origin == "own")
            object.__setattr__(self, "own_share", own / total)
