"""The words of the two sides about a device: shared buffers, how a turn is measured, what ran and was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from harness.model.arms import Metric

MADE_TWICE: tuple[Metric, ...] = ("gpu_warm", "graph")
"""Metrics of calls that are made once before they are measured: with other inputs, or whoever remembers what it
returned would have nothing to do."""

HOLD_NS = 900_000
"""A call's launches took the host 51 µs, one in a hundred over 453 and 676 at most (H100, one kernel a call, 1512
calls). Held for 300 µs, of which 170 are left when the call begins, 11 of 504 came too late; held for this long 2 of
1008. A device that is held for longer than a time slice (1.1 ms on an H100) can be given to another process meanwhile,
which could do the work: so it is held for longer only where a baseline has more to launch, and never for a solution
that has."""


@dataclass(frozen=True)
class BufferHandle:
    """A worker's key to one shared buffer; travels as JSON, its descriptor (if any) beside it.

    `cuda_ipc`: `token` is the hexadecimal cudaIpcMemHandle_t.
    `memfd`: `nbytes` bytes at `offset` of the descriptor sent with the message.
    `periodic_memfd`: the descriptor holds `period` bytes (whole pages), repeated over `nbytes`.
    `may_change`: kernels may write to it, as the reference does.
    """

    kind: Literal["cuda_ipc", "memfd", "periodic_memfd"]
    nbytes: int
    token: str | None = None
    offset: int = 0
    period: int | None = None
    may_change: bool = False


@dataclass(frozen=True)
class Finding:
    """A fault that the backend itself saw while a kernel ran."""

    kind: str
    """The kind, from a closed list: see harness/model/simulator_findings.py."""
    detail: str
    kernel: str | None = None
    file: str | None = None
    line: int | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    count: int = 1
    code: str | None = None
    """The line itself."""


@dataclass(frozen=True)
class Account:
    """The sum of what the simulator has seen since its process began, by counts that nothing but the runtime itself
    keeps: what a solution takes away before it is told is missing from the sum of what was told.

    `findings` by their kind, as the runtime has it. `traces`: how often one was begun. `atomics`: launches whose
    threads changed memory atomically; without any, no element can honestly come of several blocks of a launch.
    """

    launches: int
    findings: dict[str, int]
    traces: int
    atomics: int = 0


@dataclass(frozen=True)
class KernelRun:
    """A row of a trace: one kernel, copy or fill as it ran on the device. On the simulator, which times nothing, there
    are `elements`, of the tensors that an operator of torch was given, and `blocks`, of a kernel's grid. Claimed by the
    worker, all of it."""

    name: str
    start_ns: int
    end_ns: int
    stream: int
    kind: Literal["kernel", "copy", "fill"]
    elements: int = 0
    blocks: int = 0


@dataclass(frozen=True)
class Conditions:
    """The conditions under which the calls of a turn are measured: the metric, and how long the device is held before
    each call; without a hold gpu_cold calls begin on an idle device.

    `late_inputs`: the beginning of each input holds its values only when the device is held no longer, and the current
    stream gets there; before, during a call that warms up or that a graph is captured of as well, it holds others.
    """

    metric: Metric = "gpu_cold"
    hold_ns: int = 0
    late_inputs: bool = False


@dataclass(frozen=True)
class SeenGpu:
    """A GPU as torch describes it, for a process that doesn't hold it: properties by their names in torch."""

    properties: dict[str, str | int]

    def __post_init__(self) -> None:
        if not {"name", "major", "minor"} <= self.properties.keys():
            raise ValueError("a GPU has a name and a compute capability")
