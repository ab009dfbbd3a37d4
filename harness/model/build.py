"""The record of what was compiled: a solution's extensions by a compiler, baselines by torch."""

from __future__ import annotations

from typing import Literal

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from harness.model.arms import Baseline
from harness.model.record import RECORD, NotNegative


@dataclass(frozen=True, config=RECORD)
class KernelResources:
    """The report of ptxas for one kernel and one architecture (`-Xptxas -v`)."""

    kernel: str
    architecture: str
    registers: int | None
    shared_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    constant_bytes: int | None = None
    """Bytes of `__constant__` variables and of constants that the compiler made; None where they aren't known."""


@dataclass(frozen=True, config=RECORD)
class NvccCheck:
    """The real nvcc's judgement of an extension that was compiled for the simulator.

    `refused`: it doesn't compile, and no GPU will run it. `unchecked`: nothing follows from what happened here; `words`
    say why. `words` of a refusal are nvcc's: text of the solution's, not to be trusted.
    """

    outcome: Literal["accepted", "refused", "unchecked"]
    nvcc: str
    """The version of nvcc."""
    architectures: tuple[str, ...]
    seconds: float
    was_cached: bool
    words: str = ""
    output: str = ""
    """The whole output, the middle of a long one left out."""

    def __post_init__(self) -> None:
        if (self.outcome == "accepted") == bool(self.words):
            raise ValueError("what nvcc accepts needs no words, and the rest does")


@dataclass(frozen=True, config=RECORD)
class ExtensionBuild:
    """One extension of a solution. `was_cached`: it was found built under the same key."""

    name: str
    key: str
    was_cached: bool
    seconds: float
    log: str
    """Path of the compiler's whole output."""
    kernels: tuple[KernelResources, ...] = ()
    output: str = ""
    """The compiler's words, the middle of a long log left out. Text of the solution's, not to be trusted."""
    nvcc: NvccCheck | None = None
    """The check by nvcc beside a simulation; None on a GPU, where nvcc is the compiler, and where it wasn't asked.
    `kernels` are as nvcc compiled them."""


@dataclass(frozen=True, config=RECORD)
class CompiledBaseline:
    """A baseline that torch.compile() made. `compile_s`: by the referee's clock, how much longer the first call took
    than the second. The counts are torch's own, up to the end of the timing, but for CUDA graphs; None of what this
    torch doesn't count. Where a measurement had fresh processes (timing.processes) all of it is of the first ones,
    which compiled before anybody else did."""

    baseline: Baseline
    compile_s: NotNegative
    graphs: NonNegativeInt | None
    """The number of graphs; 0 where torch compiled nothing, so that the reference ran as eager."""
    graph_breaks: NonNegativeInt | None
    recompilations: NonNegativeInt | None
