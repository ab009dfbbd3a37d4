"""The names of what is measured: arms, the baselines among them, and metrics. Light, for the command line needs them at
its start."""

from __future__ import annotations

from typing import Literal, get_args

Baseline = Literal[
    "eager",
    "compile",
    "compile-max-autotune",
    "cudnn-benchmark",
    "channels-last",
    "eager-float64",
    "eager-float32",
    "eager-tf32",
    "eager-float16",
    "eager-bfloat16",
]
"""Ways to run the reference that a solution is compared with. The last five compute in that precision throughout; the
one that a solution declares is measured without being asked for, where eager computes in another."""
ArmName = Literal[Baseline, "control", "solution"]
"""The arm's name. `control` is the first baseline once more, in a worker of its own. What differs between the two is no
speed-up, but what this machine makes of one (an A/A test)."""
ReferenceArm = Literal[Baseline, "control"]
"""Any arm but the solution."""
Metric = Literal["gpu_cold", "gpu_warm", "end_to_end", "graph", "forward", "backward"]
"""The kind of time that a sample is. `gpu_cold`: the device's time for a call, from before its first kernel to after
its last, with nothing of the inputs in the L2 cache and all launches queued beforehand. `gpu_warm`: the same, with the
cache as a call on other values left it. `end_to_end`: the host's time from the call until the device is idle. `graph`:
like gpu_cold, but the call is captured as a CUDA graph and replayed. `forward` and `backward`: the parts of gpu_cold
before and after a training step's forward() has returned."""

BASELINES: tuple[Baseline, ...] = get_args(Baseline)
OF_PRECISION = {name.removeprefix("eager-"): name for name in BASELINES if name.startswith("eager-")}
"""The reference in the precision that a solution declares."""
METRICS: tuple[Metric, ...] = get_args(Metric)
OF_STEPS: tuple[Metric, ...] = ("forward", "backward")
"""Metrics of training steps alone."""
