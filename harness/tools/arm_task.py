"""What the process under a tool is told to do, and what it says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.sandbox.wire.sandbox import Sandbox

Mode = Literal["plain", "marked", "traced"]
"""How the calls are run: as they are, between cudaProfilerStart() and cudaProfilerStop(), under torch's profiler."""
Reached = Literal["start", "load", "construct", "call", "end"]
"""How far the process has come."""

REPORT = "report.json"
TRACE = "trace.json"
"""Files in the process's scratch folder."""


@dataclass(frozen=True)
class Calls:
    """How often the arm is called, and how: `warm_ups` come first and aren't observed."""

    mode: Mode
    count: int
    warm_ups: int = 1


@dataclass(frozen=True)
class ArmTask:
    """One arm, on one case. `solution` is the path of solution.py in the process's own copy, None for the reference.

    Inputs and parameters are those of `seed`; `compilers` as Load has it.
    """

    workspace: str
    problem: str
    case: str
    solution: str | None
    calls: Calls
    seed: int
    sandbox: Sandbox
    compilers: str | None = None


@dataclass(frozen=True)
class InlineSource:
    """The CUDA text that load_inline() was given for an extension. Torch writes `lines_before` of its own in front."""

    name: str
    text: str
    lines_before: int


@dataclass(frozen=True)
class ArmReport:
    """Written anew at each stage, since what a solution does may end the process; no more than its word.

    `error`: the traceback of what the arm raised.
    """

    stage: Reached = "start"
    error: str | None = None
    sources: tuple[InlineSource, ...] = ()
    protections: tuple[str, ...] = ()
