"""The baselines: how each makes a worker run the reference."""

from __future__ import annotations

from harness.devices import FLAGS
from harness.model.arms import Baseline, ReferenceArm
from harness.model.config import TimingConfig
from harness.model.environment import Flag
from harness.sandbox.wire.messages import Optimization

_OPTIMIZATIONS = {
    "compile": Optimization(compile_mode="default"),
    "compile-max-autotune": Optimization(compile_mode="max-autotune"),
    "channels-last": Optimization(channels_last=True),
    "eager-float64": Optimization(dtype="float64"),
    "eager-float32": Optimization(dtype="float32"),
    "eager-tf32": Optimization(dtype="float32"),
    "eager-float16": Optimization(dtype="float16"),
    "eager-bfloat16": Optimization(dtype="bfloat16"),
}
_STRICT: dict[str, Flag] = {
    "cudnn_allow_tf32": False,
    "matmul_allow_tf32": False,
    "float32_matmul_precision": "highest",
}
_TF32: dict[str, Flag] = {"cudnn_allow_tf32": True, "matmul_allow_tf32": True, "float32_matmul_precision": "high"}
_FLAGS: dict[Baseline, dict[str, Flag]] = {
    "cudnn-benchmark": {"cudnn_benchmark": True},
    "eager-float32": _STRICT,
    "eager-tf32": _TF32,
}


def references_of(config: TimingConfig) -> tuple[ReferenceArm, ...]:
    """The arms of the reference, the first baseline first."""
    return (*config.baselines, "control") if config.control else config.baselines


def flags_of(baseline: Baseline) -> dict[str, Flag]:
    """torch's switches in the baseline's worker: those of all arms, but for what makes it another baseline."""
    return {**FLAGS, **_FLAGS.get(baseline, {})}


def optimization_of(baseline: Baseline) -> Optimization | None:
    """Return what is done to the model; None where it runs as it is.

    Compiled code lies in the worker's own scratch and goes with it: in a cache that outlives it, a solution could leave
    slow code for the baseline of the next.
    """
    return _OPTIMIZATIONS.get(baseline)
