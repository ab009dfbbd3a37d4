"""Audit of the GPU between turns: a fill by the referee itself shows whether it is idle, since two processes share the
GPU in slices of about 2 ms."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Sequence
from types import TracebackType

import torch

from harness.referee.audit.observed import Observed
from harness.sandbox.outcome import SolutionFailed

_PROBE_BYTES = 256 * 2**20
_IN_A_ROW = 3
_FACTOR = 3.0
_LEAST_NS = 500_000
"""The time up to which no probe counts as slow. On an H100 one takes 0.09 to 0.10 ms while the GPU is idle, 0.25 after
the GPU has changed between processes, and 1.2 to 2.5 while another process keeps it busy."""
_SHARED = 0.25
"""The share of slow fills, with the solution's process frozen, at which the GPU counts as shared. A process that works
now and then is seldom seen after half of the solution's turns, and hardly ever after the baseline's. (Reasoned, not
measured.)"""


class ProbeKernel:
    """A probe fill of 256 MiB. A context manager; it holds its memory from the first fill on."""

    def __init__(self) -> None:
        self._memory: torch.Tensor | None = None

    def run_ns(self) -> int:
        """Fill once and return the ns by the referee's clock."""
        self._hold_memory()
        return self._fill()

    def quickest_ns(self) -> int:
        """The shortest of some fills in a row, by CUDA events; one more before them hides the host's delays."""
        memory = self._hold_memory()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(1 + _IN_A_ROW)]  # type: ignore[no-untyped-call]
        for event in events:
            memory.zero_()
            event.record()
        torch.cuda.synchronize()
        times_ms: list[float] = [one.elapsed_time(next_one) for one, next_one in itertools.pairwise(events)]
        return round(1e6 * min(times_ms))

    def __enter__(self) -> ProbeKernel:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._memory = None

    def _hold_memory(self) -> torch.Tensor:
        if self._memory is None:
            self._memory = torch.empty(_PROBE_BYTES, dtype=torch.uint8, device="cuda")
            self._fill()
        return self._memory

    def _fill(self) -> int:
        assert self._memory is not None
        torch.cuda.synchronize()
        started = time.perf_counter_ns()
        self._memory.zero_()
        torch.cuda.synchronize()
        return time.perf_counter_ns() - started


def require_idle(seen: Observed) -> tuple[str, ...]:
    """The GPU is idle after the solution's turns, as it is after the baseline's. On a shared GPU that is a remark.

    Raises: SolutionFailed.
    """
    after_solution_ns, quiet_ns = seen.solution.canaries_ns, seen.baseline.canaries_ns
    if not after_solution_ns:
        return ()
    usual_ns = statistics.median(quiet_ns) if quiet_ns else 0
    if is_shared(quiet_ns):
        return (
            f"the GPU is shared with another process: after the baseline's turns, too, a fill of 256 MiB took "
            f"{usual_ns / 1e6:.2f} ms (median of {len(quiet_ns)}), so it can't be known whether the solution works "
            "between turns, and the times may be off",
        )
    found_ns = statistics.median(after_solution_ns)
    tolerance_ns = max(_LEAST_NS, _FACTOR * usual_ns)
    if found_ns <= tolerance_ns:
        return ()
    raise SolutionFailed.cheating(
        "idle_gpu",
        f"after the solution's turns, with nothing asked of it, the GPU was busy: a fill of 256 MiB took "
        f"{found_ns / 1e6:.2f} ms (median of {len(after_solution_ns)}) instead of {usual_ns / 1e6:.2f} ms",
        canary_ns=found_ns,
        quiet_canary_ns=usual_ns,
        tolerance_ns=tolerance_ns,
    )


def is_shared(quiet_ns: Sequence[int]) -> bool:
    """Say whether probe fills that had nothing to do with the solution were slow."""
    busy = [ns for ns in quiet_ns if ns > _LEAST_NS]
    return len(busy) > _SHARED * len(quiet_ns)
