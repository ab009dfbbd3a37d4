"""What the process under a tool is told to do, and what it says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.sandbox.wire.sandbox import Sandbox

Mode = Literal["plain", "marked", "traced"]
"""How the calls are run: as they are, between cudaProfilerStart() and cudaProfilerStop(), under torch's profiler."""
Stage = Literal["start", "load", "construct", "call", "end"]
"""How far the process has come."""

REPORT = "report.json"
TRACE = "trace.json"
"""Files in the process's scratch folder."""


@dataclass(frozen=True)
class Assignment:
    """One arm, on one case. `solution` is the path of solution.py in the process's own copy, None for the reference.

    `warm_ups` calls come first, then the `calls` that count. Inputs and parameters are those of `seed`; `compilers` as
    Load has it.
    """

    workspace: str
    problem: str
    case: str
    solution: str | None
    mode: Mode
    warm_ups: int
    calls: int
    seed: int
    sandbox: Sandbox
    compilers: str | None = None


@dataclass(frozen=True)
class Source:
    """The CUDA text that load_inline() was given for an extension. Torch writes `lines_before` of its own in front."""

    name: str
    text: str
    lines_before: int


@dataclass(frozen=True)
class SubjectReport:
    """Written anew at each stage, since what a solution does may end the process; no more than its word.

    `error`: the traceback of what the arm raised.
    """

    stage: Stage = "start"
    error: str | None = None
    sources: tuple[Source, ...] = ()
    protections: tuple[str, ...] = ()
