"""Calls as CUDA graphs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import torch


class Captures:
    """Calls captured one after another, each replayed before the next is captured.

    All take memory from one pool, which the newest graph keeps alive. `torch.cuda.graph` gives back to the driver what
    the allocator has cached, at each capture; the driver clears it in the background (`benchmarks/clearing.py`), and a
    replay meanwhile is slower: calls of 1.41 ms with outputs of 2 GB took 1.65 (H100).
    """

    def __init__(self) -> None:
        self._newest: torch.cuda.CUDAGraph | None = None
        self._stream: torch.cuda.Stream | None = None
        """The stream of all captures: a pool's blocks belong to one."""

    def start_over(self) -> None:
        """Give the pool's memory and all that is cached besides back to the driver."""
        self._newest = None
        torch.cuda.empty_cache()

    def capture(self, call: Callable[[], object]) -> Callable[[], object]:
        """Capture a call. What is returned replays it into the outputs of its capture.

        Raises: RuntimeError where it can't be captured, as where it synchronises; after that nothing can be.
        """
        with contextlib.suppress(torch.OutOfMemoryError):
            return self._captured(call)
        self.start_over()  # the allocator gives nothing back while it captures
        return self._captured(call)

    def _captured(self, call: Callable[[], object]) -> Callable[[], object]:
        if self._stream is None:
            self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        pool = () if self._newest is None else (self._newest.pool(),)
        torch.empty(1, device="cuda")  # has the allocator look for blocks that other streams have done with
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self._stream):
            graph.capture_begin(*pool)
            try:
                result = call()
            finally:
                graph.capture_end()
        self._newest = graph
        graph.replay()  # the first one also brings it to the device

        def replay() -> object:
            graph.replay()
            return result

        return replay
