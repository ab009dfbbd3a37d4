"""The speed of light: how long a call takes at the device's own ceilings, and how much of that a solution reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.model.arms import OF_PRECISION, Metric
from harness.model.ceilings import Ceilings, RateSource
from harness.model.environment import Flag
from harness.model.evaluation import Evaluation, SpeedOfLight, Work
from harness.model.timing import Timing


def speed_of_light(work: Work, ceilings: Ceilings, arithmetic: str) -> SpeedOfLight:
    """Return the least time of the work. `arithmetic` is the precision; the fastest counts where the device hasn't that
    one."""
    memory = ceilings.memory
    memory_ns = work.least_bytes / memory.rate * 1e9
    if work.operations is None:
        return SpeedOfLight(memory_ns, None, None, memory.source)
    name = arithmetic if ceilings.arithmetic(arithmetic) else ceilings.fastest
    ceiling = ceilings.arithmetic(name)
    assert ceiling is not None
    return SpeedOfLight(memory_ns, work.operations / ceiling.rate * 1e9, name, memory.source, ceiling.source)


def at_clocks_seen(ceilings: Ceilings, timing: Timing | None) -> Ceilings:
    """Return the ceilings for the turns of an evaluation: at the multiprocessors' highest clock that NVML reported in
    any of them."""
    clocks = [turn.gpu.sm_mhz[1] for turn in timing.turns if turn.gpu and turn.gpu.sm_mhz] if timing else []
    return replace(ceilings, sm_mhz=max(clocks)) if clocks else ceilings


def kept_light(light: SpeedOfLight, solution_ns: float) -> tuple[SpeedOfLight, str | None]:
    """Return the limit that a solution's time leaves standing. Below the time of the operations it is the memory's,
    with a remark that is never an accusation: algorithms with fewer operations than torch counts are honest. The audit
    judges bytes."""
    if light.arithmetic_ns is None or solution_ns >= light.arithmetic_ns:
        return light, None
    share = light.arithmetic_ns / solution_ns
    whose = "in theory" if light.arithmetic_source == "theory" else "as measured"
    return SpeedOfLight(light.memory_ns, None, None, light.memory_source), (
        f"the operations that torch counts take {light.arithmetic_ns / 1e3:.1f} µs in {light.arithmetic} at the "
        f"device's best, {whose}, {share:.2f} times as long: fewer operations may do (algebra, Winograd, FFT), or it "
        f"doesn't compute in {light.arithmetic}"
    )


def arithmetic_of(declared: str | None, problem: str, flags: Mapping[str, Flag], work: Work | None) -> str:
    """Return the arithmetic whose rate a solution is held against: that of the precision which it declares, as
    leaderboards rank it.

    One that declares none is held against the problem's; there float32 means tf32 where torch's switches let a library
    use it (Environment.flags) for any of the work: it is no limit what the reference itself may pass. Convolutions have
    a switch of their own, matrix products another; where it isn't known which of them the work is, either counts.
    """
    if declared is not None:
        return declared
    switches = {"cudnn_allow_tf32", "matmul_allow_tf32"}
    if work is not None and work.operations is not None and work.convolutions is not None:
        switches -= {"cudnn_allow_tf32"} if work.convolutions == 0 else set()
        switches -= {"matmul_allow_tf32"} if work.convolutions == work.operations else set()
    return "tf32" if problem == "float32" and any(flags.get(switch, False) for switch in switches) else problem


def light_of(evaluation: Evaluation, arm: str) -> SpeedOfLight | None:
    """Return the limit that an arm is held against: a baseline against the problem's precision, like a solution that
    declares none, or against its own where it has one. It is None where no work or no ceilings are known."""
    if arm == "solution":
        return evaluation.speed_of_light
    if evaluation.work is None or evaluation.ceilings is None:
        return None
    own = next((precision for precision, name in OF_PRECISION.items() if name == arm), None)
    arithmetic = arithmetic_of(own, evaluation.problem.precision, evaluation.environment.flags, evaluation.work)
    return speed_of_light(evaluation.work, evaluation.ceilings, arithmetic)


def shares_of_parts(evaluation: Evaluation) -> dict[Metric, tuple[float, RateSource]]:
    """Return the solution's share of light in each part of a training step that was measured, and the limit's
    source."""
    work, ceilings, timing, light = evaluation.work, evaluation.ceilings, evaluation.timing, evaluation.speed_of_light
    if work is None or ceilings is None or timing is None or light is None:
        return {}
    parts, found = {"forward": work.forward, "backward": work.backward}, dict[Metric, tuple[float, RateSource]]()
    for row in timing.rows:
        if part := parts.get(row.metric):
            counted = part if light.arithmetic else replace(part, operations=None)
            limit = speed_of_light(counted, ceilings, light.arithmetic or "")
            found[row.metric] = limit.ns / timing.of_row(row).time_ns("solution"), limit.source
    return found
