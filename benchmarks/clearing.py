"""Measurements behind referee/timing/settling.py: a GPU after memory was freed, and after a rest.

The driver clears what a process frees in the background. Printed are: how fills of 256 MiB scatter on a device at rest;
how long they take in the time after a rest, and after memory was freed; and a read of 16 GiB, again and again, after
both. Needs a GPU with 40 GB and nobody else on it; takes half a minute.

    python benchmarks/clearing.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import median

import torch

from harness.model.spread import quartiles
from harness.referee.audit.idle_gpu import ProbeKernel

_GIB = 2**30
_COURSE_S = 0.4
_SHOWN = 24


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("clearing.py: no CUDA GPU that torch can use")
    with ProbeKernel() as probe:
        for _ in range(100):
            probe.quickest_ns()
        fills = [probe.quickest_ns() for _ in range(500)]
        print(f"at rest, of 500 fills: median {median(fills)}, quartiles {quartiles(fills)}, at most {max(fills)} ns")
        for rest_s in (0.01, 0.1, 1.0):
            time.sleep(rest_s)
            print(f"after {rest_s} s of rest: {course(probe)}", flush=True)
        for gib in (1, 4, 16):
            free(gib)
            print(f"after {gib} GiB were freed: {course(probe)}", flush=True)
    content = torch.rand(4 * _GIB, device="cuda")
    read_ms(content, 5)
    print(f"reading 16 GiB: {shown(read_ms(content, 5))}")
    time.sleep(0.5)
    print(f"after 0.5 s of rest: {shown(read_ms(content, 8))}")
    free(16)
    print(f"after 16 GiB were freed: {shown(read_ms(content, 30))}")


def course(probe: ProbeKernel) -> str:
    """Measure how long fills take from now on: 'ms: µs' at some moments."""
    began, found = time.perf_counter(), []
    while (now_s := time.perf_counter() - began) < _COURSE_S:
        found.append(f"{1e3 * now_s:.0f}: {probe.quickest_ns() / 1e3:.1f}")
    step = max(1, len(found) // _SHOWN)
    return ", ".join(found[:8] + found[8::step])


def free(gib: int) -> None:
    """Take so much memory, use it, and give it back to the driver."""
    taken = torch.ones(gib * _GIB, dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    time.sleep(0.3)
    del taken
    torch.cuda.empty_cache()


def read_ms(content: torch.Tensor, times: int) -> list[float]:
    found = []
    for _ in range(times):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        content.sum()
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end))
    return found


def shown(times_ms: Sequence[float]) -> str:
    return " ".join(f"{ms:.2f}" for ms in times_ms) + " ms"


if __name__ == "__main__":
    main()
