"""The settings of an evaluation that a user may change, with their defaults."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from harness.codec import decode, encode
from harness.records.arms import Baseline, Metric
from harness.records.statistics import BETWEEN_WORKERS, LITTLE_SCATTER, of_medians

SANITIZED_SLOWER = 10
"""So many times as long a turn may take with `sanitize`: kernels without barriers are that much slower
(benchmarks/simulator.py)."""


@dataclass(frozen=True)
class CorrectnessConfig:
    """`seeds` turns per case, each with inputs of its own, drawn at run time."""

    seeds: int = 3
    sampled_blocks: int = 4
    """Blocks of the full shape's launch that the simulator runs."""
    fragile: Literal["remark", "fail"] = "remark"
    """What becomes of a solution whose values are wrong only where inputs are more than 16 times as large as they were
    drawn, or a smaller part of it than a sixteenth: it passes with a remark, or it fails."""
    sanitize: bool = False
    """Whether the simulator's checked build judges, which looks at every access of a kernel."""
    min_own_share: float = 0.0
    """How much of the device's time, from 0 to 1, the solution's own kernels must take on a GPU."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_own_share <= 1:
            raise ValueError(f"correctness: min_own_share is a share between 0 and 1; not {self.min_own_share}")
        if self.seeds < 1 or self.sampled_blocks < 2:
            raise ValueError("correctness: seeds must be at least 1 and sampled_blocks at least 2")


@dataclass(frozen=True)
class TimingConfig:
    """Blocks of turns there and back (A B B A) until the interval of the speed-up is within ± `precision`, `blocks` are
    measured or `budget_s` is spent."""

    enabled: bool = True
    case: str = "full"
    baselines: tuple[Baseline, ...] = ("eager",)
    """Ways to run the reference; the headline speed-up refers to the first."""
    warmup_turns: int = 2
    blocks: int = 12
    calls_per_turn: int = 5
    budget_s: float = 60.0
    control: bool = True
    """Whether the first baseline is measured twice, so that what differs between the two shows what a speed-up of this
    size is worth here."""
    metrics: tuple[Metric, ...] = ("gpu_warm", "end_to_end")
    """What is measured besides the headline, in a few blocks each."""
    processes: int = 1
    """How often all workers are started anew and measured again: what a process is given once and for all (addresses,
    the placement of code) then differs, too."""
    precision: float | None = None
    """Half the width of the headline's 95 % interval, relative to it: 0.0038 at least for one process, 0.0025 for
    three, since workers differ that run the same. None measures all blocks."""
    checked_turns: int = 2
    """Timed turns of the solution, secretly chosen, whose output is judged like any other."""
    lock_sm_mhz: int | None = None
    """The multiprocessors' clock while a solution is judged on the GPU. None leaves clocks alone."""

    def __post_init__(self) -> None:
        if not self.baselines or len(set(self.baselines)) != len(self.baselines):
            raise ValueError("timing: baselines must name one at least, and none twice")
        if self.blocks < 6:
            raise ValueError("timing: blocks must be at least 6, or there is no 95 % interval")
        for name, fewest in (("calls_per_turn", 1), ("warmup_turns", 1), ("checked_turns", 0)):
            if getattr(self, name) < fewest:
                raise ValueError(f"timing: {name} must be at least {fewest}; not {getattr(self, name)}")
        if not 0 < self.budget_s < math.inf:
            raise ValueError(f"timing: budget_s must be positive and finite; not {self.budget_s}")
        if "gpu_cold" in self.metrics or len(set(self.metrics)) != len(self.metrics):
            raise ValueError("timing: metrics are those beside gpu_cold, which is always measured, and each once")
        if not 1 <= self.processes <= 20:
            raise ValueError("timing: processes must be between 1 and 20")
        least = LITTLE_SCATTER * BETWEEN_WORKERS * of_medians(self.processes)
        if self.precision is not None and not least <= self.precision < 1:
            raise ValueError(
                f"timing: precision must be {math.ceil(1e4 * least) / 1e4} at least and below 1, as 0.01 for ±1 %, or "
                f"null: workers that run the same differ by ±{100 * BETWEEN_WORKERS:g} %, which only more processes "
                "average out"
            )
        if self.lock_sm_mhz is not None and self.lock_sm_mhz < 1:
            raise ValueError("timing: lock_sm_mhz must be positive; leave it out, or null, to leave clocks alone")

    @property
    def sm_mhz_asked(self) -> int | None:
        """At what the clock is to be locked; None also where nothing is timed."""
        return self.lock_sm_mhz if self.enabled else None


@dataclass(frozen=True)
class LimitsConfig:
    """Seconds after which a worker's process group is ended, and how many builds run at once."""

    build_s: float = 600.0
    load_s: float = 120.0
    turn_s: float = 120.0
    parallel_builds: int | None = None
    """None: half the cores, two at least."""
    worker_memory_gib: float | None = None
    """Resident memory of one worker on the host. None: 80 % of what is available at its start."""
    pass_environment: tuple[str, ...] = ()
    """Names of environment variables that workers get besides those of compilers, CUDA and Python."""

    def __post_init__(self) -> None:
        for name in ("build_s", "load_s", "turn_s", "parallel_builds", "worker_memory_gib"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"limits: {name} must be positive and finite; not {value}")
        for name in self.pass_environment:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"limits: pass_environment takes names of variables, without values; {name!r} is none")


@dataclass(frozen=True)
class NvccConfig:
    """Whether a machine's nvcc compiles what the simulator runs, for a GPU that isn't there."""

    enabled: bool = True
    """Where there is an nvcc; elsewhere this changes nothing."""
    architectures: tuple[str, ...] = ("sm_90",)
    """For solutions that name none by flags of their own."""
    timeout_s: float = 180.0
    """For one solution; what takes longer stays unchecked."""

    def __post_init__(self) -> None:
        if not self.architectures or not all(re.fullmatch(r"sm_\d{2,3}[af]?", name) for name in self.architectures):
            raise ValueError("nvcc: architectures are names such as sm_90, one at least")
        if not self.timeout_s > 0:
            raise ValueError("nvcc: timeout_s must be positive")


@dataclass(frozen=True)
class Config:
    """Everything that a file under configs/ may set."""

    correctness: CorrectnessConfig = field(default_factory=CorrectnessConfig)
    timing: TimingConfig = field(default_factory=TimingConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    nvcc: NvccConfig = field(default_factory=NvccConfig)

    @property
    def turn_limits(self) -> LimitsConfig:
        """`limits`, with more time for a turn where every access is looked at."""
        if not self.correctness.sanitize:
            return self.limits
        return replace(self.limits, turn_s=self.limits.turn_s * SANITIZED_SLOWER)

    def checked(self) -> Config:
        """The same with values of the types that its fields have, which Python doesn't see to.

        Raises: ValueError or TypeError."""
        return decode(Config, encode(self), where="config")

    def untimed(self) -> Config:
        """The same, for correctness alone."""
        return replace(self, timing=replace(self.timing, enabled=False))

    def at_clock(self, sm_mhz: int | None) -> Config:
        """The same with the multiprocessors' clock locked; None changes nothing."""
        return self if sm_mhz is None else replace(self, timing=replace(self.timing, lock_sm_mhz=sm_mhz))

    def without_nvcc(self) -> Config:
        """The same, simulated alone."""
        return replace(self, nvcc=replace(self.nvcc, enabled=False))

    def sanitized(self, is_wanted: bool) -> Config:
        """The same for the simulator's checked build; False changes nothing."""
        return replace(self, correctness=replace(self.correctness, sanitize=True)) if is_wanted else self

    def with_own_share(self, least: float | None) -> Config:
        """The same with another `min_own_share`; None changes nothing."""
        return self if least is None else replace(self, correctness=replace(self.correctness, min_own_share=least))

    def identity(self) -> Any:
        """What its hashes cover, as JSON. A key that is younger than the first journals counts where it is set, so that
        what was found before it came still answers the same question."""
        encoded = encode(self)
        if not self.limits.pass_environment:
            del encoded["limits"]["pass_environment"]
        if not self.correctness.sanitize:
            del encoded["correctness"]["sanitize"]
        if self.correctness.fragile == CorrectnessConfig.fragile:
            del encoded["correctness"]["fragile"]
        if not self.correctness.min_own_share:
            del encoded["correctness"]["min_own_share"]
        for key in ("control", "metrics", "processes", "precision", "lock_sm_mhz"):
            if getattr(self.timing, key) == getattr(TimingConfig(), key):
                del encoded["timing"][key]
        if self.nvcc == NvccConfig():
            del encoded["nvcc"]
        return encoded
