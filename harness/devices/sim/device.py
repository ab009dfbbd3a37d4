"""The simulated device inside a worker."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from harness.cudasim import Runtime, Toolkit, load_runtime
from harness.devices.base import Measured, WorkerDevice
from harness.devices.sim.findings import RuntimeReport, parse_report
from harness.devices.sim.triton import TritonKernels
from harness.model.languages import OF_GPUS_ALONE
from harness.sandbox.wire.device import Account, BufferHandle, Finding, KernelRun

if TYPE_CHECKING:
    import torch

_MOST_ROWS = 1_000
_ENDS_A_KERNEL = {
    *("illegal-address", "host-pointer", "freed-pointer", "shared-out-of-bounds", "misaligned-address"),
    *("stack-overflow", "launch-error", "barrier-deadlock", "device-assert", "integer-divide-by-zero"),
    "too-much-work",
}
"""Findings after which nothing more is written: that elements are missing says nothing new."""


def activate(toolkit: Toolkit) -> SimDevice:
    """Make this process see one CUDA device, as load_runtime() does."""
    return SimDevice(load_runtime(toolkit))


class SimDevice(WorkerDevice):
    """The simulator as a worker uses it: one per process, from activate()."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._is_sampling = False
        self._launches = 0
        self._findings: list[Finding] = []
        self._account: Account | None = None
        self._triton = TritonKernels(runtime.mark_written, runtime.next_place, runtime.is_captured)
        self._triton.offer()
        for language in OF_GPUS_ALONE:
            sys.modules[language.module] = None  # type: ignore[assignment]  # installed or not, importing it fails

    def open_buffer(self, handle: BufferHandle, fd: int | None) -> torch.Tensor:
        """Map a one-dimensional uint8 'cuda' tensor over the descriptor's memory, between inaccessible pages.

        The tensor keeps its own mapping, and the last one takes it along: `fd` may be closed afterwards. What is
        written to a `periodic_memfd` stays in this process.
        """
        import torch

        if handle.kind == "cuda_ipc" or fd is None:
            raise ValueError(f"the simulator opens memfd buffers with their descriptor, not {handle.kind!r} (fd {fd})")
        period = (handle.period or 0) if handle.kind == "periodic_memfd" else 0
        place = (fd, handle.offset, handle.nbytes, period, handle.may_change)
        tensor: torch.Tensor = torch.ops.harness_sim.map_buffer(*place)
        return tensor

    def measure(
        self,
        call: Callable[[], object],
        fitting: Callable[[object], Sequence[tuple[torch.Tensor, torch.Tensor]]],
        inputs: Sequence[torch.Tensor] = (),
    ) -> Measured:
        """Call and store the outputs; simulated time means nothing."""
        result = call()
        for number, (source, destination) in enumerate(fitting(result)):
            self._require_written(number, source)
            self.store(source, destination)
        return Measured(result, None, None)

    def _require_written(self, number: int, output: torch.Tensor) -> None:
        """Note a finding if kernels left elements out, in the checked build; sampled blocks are expected to."""
        import numpy
        import torch

        count, first = torch.ops.harness_sim.count_unwritten(output) if not self._is_sampling else (0, 0)
        if not count:
            return
        self._read_report()  # what kernels did comes before what came of it
        if any(finding.kind in _ENDS_A_KERNEL for finding in self._findings):
            return
        index = [int(place) for place in numpy.unravel_index(first, output.shape)]  # torch's imports sympy
        shape = "×".join(map(str, output.shape)) or "a scalar"
        detail = (
            f"{count:,} of the {output.numel():,} elements of output {number} ({shape}, "
            f"{str(output.dtype).removeprefix('torch.')}) were never written, the first at {index}"
        )
        self._findings.append(Finding("unwritten-output", detail))

    def store(self, source: torch.Tensor, destination: torch.Tensor) -> None:
        """Copy an output into its shared buffer; when sampling blocks, only the pages that were written.

        A page of the source that holds nothing but poison or zero is not copied and stays a hole.
        """
        import torch

        is_sparse = self._is_sampling and source.is_contiguous() and destination.is_contiguous()
        if is_sparse and source.dtype == destination.dtype:
            torch.ops.harness_sim.copy_touched(source.detach(), destination)
            return
        with torch.no_grad():  # a solution may have left gradients on
            destination.copy_(source)

    def synchronize(self) -> None:
        """Raise RuntimeError, worded as torch words it, once a kernel has faulted."""
        self._runtime.synchronize()

    def limit_launches(self, count: int | None = None, seed: int = 0, seconds: float | None = None) -> None:
        """Limit them: one that is given up is a finding, `too-much-work`, and fails as one that has timed out."""
        self._is_sampling = bool(count)
        self._runtime.limit_launches(count, seed, seconds)
        self._triton.limit_launches(count, seed, seconds)

    def take_findings(self) -> tuple[tuple[Finding, ...], int]:
        """Return findings and launches since the last call; errors that make later calls fail stay in force."""
        self._read_report()
        taken = tuple(self._findings), self._launches
        self._findings, self._launches = [], 0
        return taken

    def account(self) -> Account | None:
        return self._account

    def can_trace(self) -> bool:
        return True

    def start_trace(self) -> None:
        self._runtime.trace(True)
        self._triton.ran.clear()

    def take_trace(self) -> tuple[KernelRun, ...] | None:
        """Make a row per kernel and per operator of torch that ran, at most `_MOST_ROWS` a name. Instead of times, rows
        have the place of the latest of their name."""
        ran = self._read_report().ran
        self._runtime.trace(False)
        if ran is None:
            return None
        return tuple(row for name, counts in ran.items() for row in _rows(name, *counts))

    def _read_report(self) -> RuntimeReport:
        report = self._triton.added_to(parse_report(self._runtime.take_report()))
        self._findings += report.findings
        self._launches += report.launches
        self._account = report.account
        return report

    def reset_errors(self) -> None:
        """Forget a fault, as a new process would."""
        self._runtime.reset_errors()


def _rows(name: str, count: int, elements: int, blocks: int, last: int) -> Iterator[KernelRun]:
    """Make rows that hold all elements and blocks, however many rows are left out."""
    rows = min(count, _MOST_ROWS)
    for row in range(rows):
        shares = [whole * (row + 1) // rows - whole * row // rows for whole in (elements, blocks)]
        yield KernelRun(name, last, last, 0, "kernel", *shares)
