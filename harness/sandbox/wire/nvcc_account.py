"""Calls of nvcc, and what came of them, as text that outlives a worker: its folder is WORKER_PLACE there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.sandbox.wire.codec import decode, encode
from harness.sandbox.wire.layout import WORKER_PLACE
from harness.sandbox.wire.messages import CompiledForGpu, NvccCall, NvccRun


def read_calls(text: str, folder: Path) -> tuple[NvccCall, ...]:
    """For a worker in `folder`. Raises: ValueError; the text is a worker's, and may be anything."""
    try:
        calls = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(calls, list):
        raise ValueError("no list")
    here = str(folder)
    return tuple(_moved(decode(NvccCall, call), here) for call in calls)


def anywhere(runs: Sequence[NvccRun], folder: Path) -> tuple[NvccRun, ...]:
    """Runs of a worker in `folder`, their output as it would be in WORKER_PLACE."""
    return tuple(replace(run, output=run.output.replace(str(folder), WORKER_PLACE)) for run in runs)


def runs_text(runs: Sequence[NvccRun]) -> str:
    return json.dumps(encode(CompiledForGpu(tuple(runs))))


def read_runs(text: str) -> tuple[NvccRun, ...]:
    """Raises: ValueError."""
    return decode(CompiledForGpu, json.loads(text)).runs


def _moved(call: NvccCall, folder: str) -> NvccCall:
    arguments = tuple(argument.replace(WORKER_PLACE, folder) for argument in call.arguments)
    return replace(call, arguments=arguments, source=call.source.replace(WORKER_PLACE, folder))
