"""The settings of an evaluation that a user may change, with their defaults."""

from __future__ import annotations

import math
import re
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from harness.model.arms import OF_STEPS, Baseline, Metric
from harness.model.record import SETTINGS, Positive, as_json
from harness.model.statistics import BETWEEN_WORKERS, LITTLE_SCATTER, of_medians

SANITIZED_SLOWER = 10
"""The factor by which turns may take longer with `sanitize`: kernels without barriers are that much slower
(benchmarks/simulator.py)."""


_MOST = 100_000
"""The most of anything that is counted: more is a slip of the keyboard, and no run would end."""
Count = Annotated[int, Field(ge=1, le=_MOST)]


@dataclass(frozen=True, config=SETTINGS)
class CorrectnessConfig:
    """The settings for checking outputs."""

    seeds: Count = 3
    """Turns per case, each with inputs of its own, drawn at run time."""
    sampled_blocks: Annotated[int, Field(ge=2, le=_MOST)] = 4
    """Blocks of the full shape's launch that the simulator runs."""
    fragile: Literal["remark", "fail"] = "remark"
    """The fate of a solution whose values are wrong only where inputs are more than 16 times as large as they were
    drawn, or smaller than a sixteenth of that, or whose outputs lie in an earlier one's memory: it passes with a
    remark, or it fails."""
    sanitize: bool = False
    """True where the simulator's checked build judges, which looks at every access of a kernel."""
    min_own_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The least share of the device's time, from 0 to 1, that the solution's own kernels must take on a GPU."""
    cascade: Literal["never", "auto"] = "never"
    """never: the GPU judges all that compiles. auto: where several solutions want a GPU and builds have cores for
    themselves, the simulator judges before it, and what is surely wrong ends there."""


@dataclass(frozen=True, config=SETTINGS)
class TimingConfig:
    """The settings for measuring speed: in blocks of turns there and back (A B B A), until the interval of the speed-up
    is within ± `precision`, `blocks` are measured or `budget_s` is spent."""

    enabled: bool = True
    """True where speed is measured after correctness."""
    case: str = "full"
    """The case that is timed."""
    baselines: tuple[Baseline, ...] = ("eager",)
    """Ways to run the reference; the headline speed-up refers to the first."""
    warmup_turns: Count = 2
    """Turns before the first that counts, at least; they go on until times settle."""
    blocks: Annotated[int, Field(ge=6, le=_MOST)] = 12
    """Blocks of turns to measure in each process, there and back; six are as few as a 95 % interval needs."""
    calls_per_turn: Count = 5
    """Calls that one turn times."""
    budget_s: Positive = 60.0
    """Seconds after which no further block begins."""
    control: bool = True
    """True where the first baseline is measured twice, so that the difference between the two shows what a speed-up of
    this size is worth here."""
    metrics: tuple[Metric, ...] = ("gpu_warm", "end_to_end")
    """Metrics that are measured besides the headline, in a few blocks each; with them a training step's parts."""
    processes: Annotated[int, Field(ge=1, le=20)] = 1
    """The number of times that all workers are started anew and measured: what a process is given once and for all
    (addresses, the placement of code) then differs, too."""
    precision: float | None = 0.005
    """Half the width of the headline's 95 % interval, relative to it, that is enough: 0.0038 at least for one process,
    0.0025 for three, since workers differ that run the same. null measures all blocks."""
    checked_turns: Annotated[int, Field(ge=0, le=_MOST)] = 2
    """Timed turns of the solution, secretly chosen, whose output is judged like any other."""
    lock_sm_mhz: Count | None = None
    """The multiprocessors' clock while a solution is judged on the GPU, which needs root. null leaves clocks alone."""

    def __post_init__(self) -> None:
        if not self.baselines or len(set(self.baselines)) != len(self.baselines):
            raise ValueError("baselines must name one at least, and none twice")
        unasked = {"gpu_cold", *OF_STEPS}
        if unasked & set(self.metrics) or len(set(self.metrics)) != len(self.metrics):
            raise ValueError(
                "metrics are those beside gpu_cold, forward and backward, which are measured unasked, and each once"
            )
        least = LITTLE_SCATTER * BETWEEN_WORKERS * of_medians(self.processes)
        if self.precision is not None and not least <= self.precision < 1:
            raise ValueError(
                f"precision must be {math.ceil(1e4 * least) / 1e4} at least and below 1, such as 0.01 for ±1 %, or "
                f"null: workers that run the same differ by ±{100 * BETWEEN_WORKERS:g} %, which only more processes "
                "average out"
            )

    @property
    def sm_mhz_asked(self) -> int | None:
        """The clock that is to be locked, in MHz; None also where nothing is timed."""
        return self.lock_sm_mhz if self.enabled else None


ConfinementLevel = Literal["none", "files", "full", "container"]


@dataclass(frozen=True, config=SETTINGS)
class LimitsConfig:
    """Limits after which a worker's process group is ended, and the number of builds that run at once."""

    build_s: Positive = 600.0
    """Seconds for compiling a solution's extensions."""
    load_s: Positive = 120.0
    """Seconds for importing and constructing."""
    turn_s: Positive = 120.0
    """Seconds for one turn; ten times as long with correctness.sanitize."""
    turns_s: Positive | None = None
    """Seconds for all turns of a solution's worker together, in checks and while it is timed. null is no limit."""
    parallel_builds: Count | None = None
    """The number of builds at once. null is half the cores, two at least."""
    worker_memory_gib: Positive | None = None
    """Resident memory of one worker on the host. null is 80 % of what is available at its start."""
    confinement: ConfinementLevel = "none"
    """The least level of a worker's confinement at which a solution is loaded: none, files, full or container
    (SECURITY.md). NVIDIA's tools confine nothing to rely on: profile, and sanitize on a GPU, are refused above none."""
    pass_environment: tuple[str, ...] = ()
    """Names of environment variables that workers get besides those of compilers, CUDA and Python."""

    def __post_init__(self) -> None:
        for name in self.pass_environment:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"pass_environment takes names of variables, without values; {name!r} is none")


@dataclass(frozen=True, config=SETTINGS)
class NvccConfig:
    """The settings for compiling what the simulator runs with a machine's nvcc, for a GPU that isn't there."""

    enabled: bool = True
    """True where nvcc is used if there is one; without one this changes nothing."""
    architectures: tuple[str, ...] = ("sm_90",)
    """Architectures for solutions that name none by flags of their own."""
    timeout_s: Positive = 180.0
    """Seconds for one solution; what takes longer stays unchecked."""

    def __post_init__(self) -> None:
        if not self.architectures or not all(re.fullmatch(r"sm_\d{2,3}[af]?", name) for name in self.architectures):
            raise ValueError("architectures are names such as sm_90, one at least")


_YOUNG = {
    "correctness": ("sanitize", "fragile", "min_own_share"),
    "timing": ("control", "metrics", "processes", "precision", "lock_sm_mhz"),
    "limits": ("pass_environment", "turns_s"),
}
"""Keys that came after the first journals."""


@dataclass(frozen=True, config=SETTINGS)
class Config:
    """Everything that a file under configs/ may set."""

    correctness: CorrectnessConfig = field(default_factory=CorrectnessConfig)
    """Settings for judging a solution's outputs."""
    timing: TimingConfig = field(default_factory=TimingConfig)
    """Settings for measuring speed."""
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    """Limits at which a worker is given up."""
    nvcc: NvccConfig = field(default_factory=NvccConfig)
    """Settings for a machine's nvcc beside the simulator."""

    @property
    def turn_limits(self) -> LimitsConfig:
        """The limits, with more time for a turn where every access is looked at."""
        if not self.correctness.sanitize:
            return self.limits
        return replace(self.limits, turn_s=self.limits.turn_s * SANITIZED_SLOWER)

    def but(self, section: Literal["correctness", "timing", "limits", "nvcc"], **settings: Any) -> Config:
        """Return the same config with other values for keys of a section; None changes nothing."""
        given = {key: value for key, value in settings.items() if value is not None}
        return replace(self, **{section: replace(getattr(self, section), **given)})

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The settings that its hashes cover, as JSON. A key that is younger than the first journals counts where it
        differs from its default, so that what was found before it came still answers the same question."""
        encoded = as_json(self)
        del encoded["limits"]["confinement"]  # it decides whether anything is found, not what
        del encoded["correctness"]["cascade"]  # it decides where something is found, not what
        for section, keys in _YOUNG.items():
            settings = getattr(self, section)
            for key in keys:
                if getattr(settings, key) == getattr(type(settings), key):
                    del encoded[section][key]
        if self.nvcc == NvccConfig():
            del encoded["nvcc"]
        return encoded
