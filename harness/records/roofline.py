"""The speed of light: how long a call takes at the device's own ceilings, and how much of that a solution reaches."""

from __future__ import annotations

from collections.abc import Mapping

from harness.records.arms import Baseline
from harness.records.ceilings import Ceilings
from harness.records.environment import Flag
from harness.records.evaluation import Evaluation, SpeedOfLight, Work


def speed_of_light(work: Work, ceilings: Ceilings, arithmetic: str) -> SpeedOfLight:
    """`arithmetic`: a key of `matrix_operations_per_s`; the fastest counts where the device hasn't that one."""
    if work.operations is None:
        return SpeedOfLight(memory_ns(work, ceilings), None, None)
    rates = ceilings.matrix_operations_per_s
    name = arithmetic if arithmetic in rates else ceilings.fastest
    return SpeedOfLight(memory_ns(work, ceilings), work.operations / rates[name] * 1e9, name)


def memory_ns(work: Work, ceilings: Ceilings) -> float:
    """What is read and written in equal parts goes at the rate of a copy, the rest at that of reading or writing.

    A memory that changes between the two loses time, so the three rates differ; this is exact for the mixes that were
    measured (all read, half and half, all written), and linear in time between them.
    """
    if work.written_bytes is None:
        return work.least_bytes / ceilings.memory_bytes_per_s * 1e9
    written, read = work.written_bytes, work.least_bytes - work.written_bytes
    both = min(read, written)
    seconds = (
        2 * both / ceilings.copy_bytes_per_s
        + (read - both) / ceilings.read_bytes_per_s
        + (written - both) / ceilings.write_bytes_per_s
    )
    return seconds * 1e9


def arithmetic_of(declared: str | None, problem: str, flags: Mapping[str, Flag], work: Work | None) -> str:
    """Whose rate a solution is held against: that of the precision which it declares, as leaderboards rank it.

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


def share_of_baseline(evaluation: Evaluation, baseline: Baseline) -> float | None:
    """As Evaluation.share_of_light, of a baseline: held against the problem's precision, as a solution that declares
    none."""
    if evaluation.work is None or evaluation.ceilings is None or evaluation.timing is None:
        return None
    arithmetic = arithmetic_of(None, evaluation.problem.precision, evaluation.environment.flags, evaluation.work)
    light = speed_of_light(evaluation.work, evaluation.ceilings, arithmetic)
    return light.ns / evaluation.timing.time_ns(baseline)
