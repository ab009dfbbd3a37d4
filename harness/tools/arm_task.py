"""The task of the process under a tool, and its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.sandbox.wire.sandbox import Sandbox

Mode = Literal["plain", "marked", "traced"]
"""The way to run calls: as they are, between cudaProfilerStart() and cudaProfilerStop(), under torch's profiler."""
Reached = Literal["start", "load", "construct", "call", "end"]
"""The stage that the process has reached."""

REPORT = "report.json"
TRACE = "trace.json"
"""Files in the process's scratch folder."""
CUDA_FILE = "cuda.cu"
"""The name that load_inline() gives the file that it writes for the build: tools name lines of it when it is gone."""
SEED = 0
"""The inputs' seed: what is shown is the same at every call, and decides nothing."""


@dataclass(frozen=True)
class Calls:
    """The number of calls of the arm, and their mode: `warm_ups` come first and aren't observed."""

    mode: Mode
    count: int
    warm_ups: int = 1


@dataclass(frozen=True)
class ArmTask:
    """One arm, on one case. `solution` is the path of solution.py in the process's own copy, None for the reference.

    Inputs and parameters are those of SEED; `compilers` as Load has it.
    """

    workspace: str
    problem: str
    case: str
    solution: str | None
    calls: Calls
    sandbox: Sandbox
    compilers: str | None = None


@dataclass(frozen=True)
class InlineSource:
    """The CUDA text that load_inline() was given for an extension. Torch writes `lines_before` of its own in front."""

    text: str
    lines_before: int


@dataclass(frozen=True)
class ArmReport:
    """A report, written anew at each stage, since the solution may end the process; it is no more than a claim.

    `error`: the traceback of what the arm raised.
    """

    stage: Reached = "start"
    error: str | None = None
    sources: tuple[InlineSource, ...] = ()
    protections: tuple[str, ...] = ()
