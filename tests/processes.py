"""Functions in processes of their own, which aren't forked from this one: a fork of a process with threads may wait for
ever for a lock that one of them held (fork(2))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing import get_context
from typing import TypeVar

Given = TypeVar("Given")
Found = TypeVar("Found")

CLEAN = get_context("forkserver")
"""Processes are children of a server that runs nothing else, and has imported what they need."""
CLEAN.set_forkserver_preload(["harness.store.index", "tests.examples"])
LIMIT_S = 120


def map_in_processes(function: Callable[[Given], Found], given: Sequence[Given], processes: int = 4) -> list[Found]:
    """Results in order. Raises: multiprocessing.TimeoutError where they aren't there after LIMIT_S seconds."""
    with CLEAN.Pool(processes) as pool:
        return pool.map_async(function, given, chunksize=1).get(LIMIT_S)
