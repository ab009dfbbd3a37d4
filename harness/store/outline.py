"""What the index needs of a line; the rest, which is most of it, never becomes an object."""

from __future__ import annotations

from dataclasses import field

from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass

from harness.model.build import CompiledBaseline, ExtensionBuild
from harness.model.ceilings import Ceilings
from harness.model.check import Check, DerivedTolerance
from harness.model.evaluation import Evaluation, Failure, SolutionRef, Work
from harness.model.timing import PeakMemory, Row, Timing, Turn
from harness.store.line import read_line

_OUTLINE = ConfigDict(extra="ignore")


@dataclass(frozen=True, config=_OUTLINE)
class _Solution(SolutionRef):
    explanation: str = field(default="", init=False)
    files: dict[str, str] = field(default_factory=dict, init=False)


@dataclass(frozen=True, config=_OUTLINE)
class _Turn(Turn):
    tail_ns: tuple[int, ...] = field(default=(), init=False)
    launch_ns: tuple[int, ...] = field(default=(), init=False)


@dataclass(frozen=True, config=_OUTLINE)
class _Timing(Timing):
    turns: tuple[_Turn, ...]
    rows: tuple[Row, ...] = field(default=(), init=False)
    memory: tuple[PeakMemory, ...] = field(default=(), init=False)


@dataclass(frozen=True, config=_OUTLINE)
class Outline(Evaluation):
    """An evaluation whose checks, builds and texts nobody has looked at: a line with a fault there passes."""

    solution: _Solution
    timing: _Timing | None = None
    failure: Failure | None = field(default=None, init=False)
    builds: tuple[ExtensionBuild, ...] = field(default=(), init=False)
    checks: tuple[Check, ...] = field(default=(), init=False)
    tolerances: tuple[DerivedTolerance, ...] = field(default=(), init=False)
    compiled: tuple[CompiledBaseline, ...] = field(default=(), init=False)
    work: Work | None = field(default=None, init=False)
    ceilings: Ceilings | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """What Evaluation demands holds of the whole record."""


_ADAPTER = TypeAdapter(Outline)


def outline_from_line(line: str | bytes) -> Outline:
    """Raises: NoRecord."""
    return read_line(line, _ADAPTER)
