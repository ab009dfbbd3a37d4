"""What a compiler said of a solution's extensions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelResources:
    """What ptxas reports for one kernel and one architecture (`-Xptxas -v`)."""

    kernel: str
    architecture: str
    registers: int | None
    shared_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int


@dataclass(frozen=True)
class ExtensionBuild:
    """One extension of a solution. `was_cached`: found built under the same key."""

    name: str
    key: str
    was_cached: bool
    seconds: float
    log: str
    """Path of the compiler's whole output."""
    kernels: tuple[KernelResources, ...] = ()
    output: str = ""
    """The compiler's words, the middle of a long log left out. Text of the solution's, not to be trusted."""
