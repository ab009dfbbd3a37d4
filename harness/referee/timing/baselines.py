"""The baselines: how each makes a worker run the reference."""

from __future__ import annotations

from harness.protocol.messages import Optimization
from harness.records.arms import Baseline
from harness.records.environment import Flag
from harness.referee.environment import FLAGS

_OPTIMIZATIONS = {
    "compile": Optimization(compile_mode="default"),
    "compile-max-autotune": Optimization(compile_mode="max-autotune"),
    "channels-last": Optimization(channels_last=True),
}


def flags_of(baseline: Baseline) -> dict[str, Flag]:
    """torch's switches in the baseline's worker: those of all arms, but for cudnn-benchmark's one."""
    return {**FLAGS, "cudnn_benchmark": True} if baseline == "cudnn-benchmark" else FLAGS


def optimization_of(baseline: Baseline) -> Optimization | None:
    """What is done to the model; None where it runs as it is.

    Compiled code lies in the worker's own scratch and goes with it: in a cache that outlives it, a solution could leave
    slow code for the baseline of the next.
    """
    return _OPTIMIZATIONS.get(baseline)
