"""Records with plain values, for tests that need a whole one and care about a part of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.model.arms import ArmName
from harness.model.build import ExtensionBuild, KernelResources
from harness.model.ceilings import Ceilings
from harness.model.check import Check, Evidence, Mismatch, OutputComparison, Tolerance
from harness.model.config import Config
from harness.model.environment import Environment
from harness.model.evaluation import Evaluation, Failure, ProblemRef, SolutionRef, Work
from harness.model.roofline import arithmetic_of, speed_of_light
from harness.model.timing import GpuState, PeakMemory, Row, TimerOverhead, Timing, Turn
from harness.model.trace import Trace, TracedKernel
from harness.model.verdict import Verdict


def environment(**changes: Any) -> Environment:
    """A GPU machine."""
    facts: dict[str, Any] = {
        "backend": "cuda",
        "gpu": "NVIDIA H100 80GB HBM3",
        "gpu_memory_bytes": 85_000_000_000,
        "driver": "580.65.06",
        "compute_capability": "9.0",
        "torch": "2.11.0+cu130",
        "torch_cuda": "13.0",
        "cudnn": "91002",
        "nvcc": "13.0.88",
        "host_compiler": "g++ 12.2.0",
        "python": "3.11.7",
        "os": "Linux 6.1",
        "cpu": "AMD EPYC",
        "cpu_count": 16,
        "harness": "0.1.0",
        "flags": {"cudnn_allow_tf32": True},
        "commit": "a49ed80c5a78",
    }
    return Environment(**{**facts, **changes})


def sim_environment(**changes: Any) -> Environment:
    """A machine without a GPU."""
    absent = dict.fromkeys(("gpu", "gpu_memory_bytes", "driver", "compute_capability", "torch_cuda", "cudnn"))
    return environment(**{"backend": "sim", **absent, **changes})


def comparison(**changes: Any) -> OutputComparison:
    """Four values, all of them right."""
    facts: dict[str, Any] = {
        "shape": (2, 2),
        "dtype": "float32",
        "tolerance": Tolerance(1e-4, 1e-5),
        "elements": 4,
        "compared": 4,
        "mismatches": 0,
        "max_abs_error": 1e-6,
        "max_rel_error": 2e-6,
        "worst": 0.125,
    }
    return OutputComparison(**{**facts, **changes})


def wrong_comparison() -> OutputComparison:
    return comparison(mismatches=1, worst=30.0, first_mismatches=(Mismatch((1, 0), 2.5, -1.0),))


def check(*outputs: OutputComparison, tolerance: Tolerance | None = None) -> Check:
    judged = outputs or (comparison(),)
    if tolerance is not None:
        judged = tuple(replace(output, tolerance=tolerance) for output in judged)
    return Check("small", 12345, "complete", "float64", judged)


def timing(eager_ns: int = 3_000_000, solution_ns: int = 1_000_000, blocks: int = 6) -> Timing:
    """`blocks` times A B B A with two equal calls a turn."""
    order: tuple[ArmName, ...] = ("eager", "solution", "solution", "eager")
    times = {"eager": eager_ns, "solution": solution_ns}
    return Timing("full", tuple(Turn(a, b, (times[a],) * 2, 2 * times[a] + 50) for b in range(blocks) for a in order))


def ceilings(**changes: Any) -> Ceilings:
    """An H100's."""
    facts: dict[str, Any] = {
        "device": "NVIDIA H100 80GB HBM3",
        "driver": "580.65.06",
        "torch": "2.11.0+cu130",
        "measured_at": "2026-11-21T15:30:00+00:00",
        "cache_bytes": 50 * 2**20,
        "memory_peak_bytes_per_s": 3.352e12,
        "copy_bytes_per_s": 3.03e12,
        "read_bytes_per_s": 3.09e12,
        "write_bytes_per_s": 3.29e12,
        "cache_copy_bytes_per_s": 5e12,
        "matrix_operations_per_s": {"float32": 51e12, "tf32": 350e12, "bfloat16": 777e12, "int8": 1400e12},
        "vector_operations_per_s": 60e12,
        "multiprocessors": 132,
    }
    return Ceilings(**{**facts, **changes})


def with_light(
    evaluation: Evaluation, work: Work = Work(4_290_000_000, None, 2_140_000_000), device: Ceilings | None = None
) -> Evaluation:
    """The evaluation with the speed of light that follows from the work and an H100's ceilings."""
    device = device or ceilings()
    arithmetic = arithmetic_of(
        evaluation.solution.precision, evaluation.problem.precision, evaluation.environment.flags, work
    )
    light = speed_of_light(work, device, arithmetic)
    return replace(evaluation, work=work, ceilings=device, speed_of_light=light)


def measured(blocks: int = 12, turns: Callable[[Turn], Turn] = lambda turn: turn, **changes: Any) -> Timing:
    """A quiet measurement of 3 ms against 1 ms with everything that one can have, each turn as `turns` changes it.

    Times of 0.1 % jitter, the same in every test.
    """
    rng = random.Random(5)
    order: tuple[ArmName, ...] = ("eager", "solution", "control", "control", "solution", "eager")

    def turn(arm: ArmName, block: int, scale: float) -> Turn:
        ns = tuple(round((1e6 if arm == "solution" else 3e6) * scale * rng.gauss(1, 0.001)) for _ in range(2))
        launch_ns = (30_000, 31_000) if arm == "solution" else (60_000, 61_000)
        gpu = GpuState((1755, 1980), 2619, 412.5, 90.5, 48, (), 0)
        return Turn(arm, block, ns, sum(ns) + 50, (0, 0), launch_ns, (True, True), 160_000 + block, gpu)

    facts: dict[str, Any] = {
        "case": "full",
        "turns": tuple(turns(turn(arm, block, 1.0)) for block in range(blocks) for arm in order),
        "floors": TimerOverhead(1_500.0, 2_400.0),
        "rows": (Row("gpu_warm", tuple(turn(arm, block, 0.8) for block in range(6) for arm in order)),),
        "memory": (PeakMemory("eager", 64_000_000, 71_000_000), PeakMemory("solution", 1_000_000, None)),
    }
    return Timing(**{**facts, **changes})


def far_out() -> Check:
    """Wrong where the inputs are far larger than they are drawn."""
    return replace(check(wrong_comparison()), variant="rescaled (times 2^20)")


def build() -> ExtensionBuild:
    kernel = KernelResources("relu(float*)", "sm_90", 32, 4096, 8, 4, 16)
    return ExtensionBuild("relu_ext", "0ed3f931", False, 4.25, "/cache/logs/0ed3f931.log", (kernel,))


def passed(name: str = "tiled", **changes: Any) -> Evaluation:
    facts: dict[str, Any] = {
        "id": "20261121T031040-b1084b09",
        "run": "20261121T031035Z-ef9a",
        "started_at": "2026-11-21T03:10:40.780+00:00",
        "duration_s": 16.5,
        "problem": ProblemRef("maxpool2d", "c004" * 16, "float32"),
        "solution": SolutionRef(name, "6a0d" * 16, "somebody", None, Verdict.PASSED),
        "cases": ("full", "small"),
        "config": Config(),
        "environment": environment(),
        "seed": 5692163613755307619,
        "verdict": Verdict.PASSED,
        "checks": (check(),),
    }
    return Evaluation(**{**facts, **changes})


def failed(name: str = "broken", verdict: Verdict = Verdict.WRONG_VALUES, **changes: Any) -> Evaluation:
    failure = Failure("1 of 4 values are outside the tolerance", "look at the borders", "small", 12345, "[1, 0]: 2.5")
    facts: dict[str, Any] = {"verdict": verdict, "failure": failure, "checks": (check(wrong_comparison()),)}
    return passed(name, **{**facts, **changes})


def cheated(name: str = "impostor", **changes: Any) -> Evaluation:
    """Found by its tail, and traced."""
    observed = "in 48 of 50 calls the device was busy for 3.1 ms after the interval's end"
    evidence = Evidence("tail", observed, {"busy_calls": 48, "tail_ns": 3_100_000})
    failure = Failure(observed, "join every stream that you use", "full", evidence=(evidence,))
    facts: dict[str, Any] = {"verdict": Verdict.CHEATING, "failure": failure, "trace": trace()}
    return passed(name, **{"protections": ("own user", "read-only files"), **facts, **changes})


def trace() -> Trace:
    """Two calls: 3 ms in the solution's kernel, 1 ms in torch's."""
    own = TracedKernel("void tile<float, 4>(float const*, float*, int)", "own", 2, 3_000_000)
    return Trace("full", 2, (TracedKernel("at::native::add_kernel", "framework", 2, 1_000_000), own))
