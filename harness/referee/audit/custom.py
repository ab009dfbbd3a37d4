"""Whether kernels of the solution's own do the work: in one traced case, and over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.records.trace import Trace, TracedKernel
from harness.records.verdict import Verdict
from harness.referee.audit.operators import took_all_of
from harness.referee.outcome import SolutionFailed

_DECOY = 0.01
"""Own kernels that take less than this share of the compute time did no work worth the name."""


@dataclass(frozen=True)
class TracedCase:
    """A case of which a turn was traced. `accused`: why its work was not the solution's own; None where it was."""

    case: str
    is_compared: bool
    """Whether values of it were held against the oracle's."""
    trace: Trace | None
    accused: SolutionFailed | None


def accused_of(cases: Sequence[TracedCase], standing: str | None) -> TracedCase | None:
    """The case that convicts, if any: `standing`, which stands for the solution, as the timed one does on a GPU; or one
    whose values were compared, where the framework did the work in all of those. To leave some of them to the
    framework is honest: sizes for which one has written no kernel."""
    for one in cases:
        if one.case == standing and one.accused:
            return one
    compared = [one for one in cases if one.is_compared] or cases
    return compared[-1] if compared and all(one.accused for one in compared) else None


def remarks_on(cases: Sequence[TracedCase]) -> tuple[str, ...]:
    """Where the framework did the work, though not in all cases."""
    return tuple(f"{one.case}: not the solution's own work: {one.accused}" for one in cases if one.accused)


def require_custom(trace: Trace, reference: Trace | None) -> tuple[str, ...]:
    """Remarks. Raises: SolutionFailed where the framework's kernels did the work, or none at all."""
    own = [kernel for kernel in trace.kernels if kernel.origin == "own"]
    framework = [kernel for kernel in trace.kernels if kernel.origin == "framework"]
    listed = ", ".join(kernel.name[:80] for kernel in framework[:3])
    if not own and framework:
        raise _no_custom_kernel(f"no kernel of the solution's ran, only the framework's: {listed}")
    if not own:
        raise _no_custom_kernel("no kernel of the solution's ran; the device only moved data, if anything")
    own_ns, framework_ns = (sum(kernel.ns for kernel in kernels) for kernels in (own, framework))
    total_ns = own_ns + framework_ns
    if not total_ns:
        return _require_untimed(trace, reference, listed)
    share = own_ns / total_ns
    if share < _DECOY:
        raise _no_custom_kernel(
            f"the solution's own kernels took {share:.2%} of the computing time, the framework's the rest: {listed}"
        )
    if reference is not None and 2 * own_ns <= framework_ns and _ran_all_of(trace, framework, reference):
        raise _no_custom_kernel(
            "the framework did all that the reference consists of itself, and for twice as long as the solution's own "
            f"kernels ran: {listed}"
        )
    if share < 0.5:
        return (f"{trace.case}: the framework's kernels took {1 - share:.0%} of the computing time: {listed}",)
    return ()


def _require_untimed(trace: Trace, reference: Trace | None, listed: str) -> tuple[str, ...]:
    """On the simulator, where what operators were given stands for the time that kernels take."""
    if reference is not None and took_all_of(trace, reference):
        raise _no_custom_kernel(f"the framework did all that the reference consists of itself: {listed}")
    return (f"{trace.case}: beside the solution's own kernels the framework ran {listed}",) if listed else ()


def _ran_all_of(trace: Trace, framework: Sequence[TracedKernel], reference: Trace) -> bool:
    """Per call, by name and count."""
    ran = {kernel.name: kernel.launches / trace.calls for kernel in framework}
    wanted = {kernel.name: kernel.launches / reference.calls for kernel in reference.kernels if kernel.origin != "move"}
    return bool(wanted) and all(ran.get(name, 0) >= launches for name, launches in wanted.items())


def _no_custom_kernel(reason: str) -> SolutionFailed:
    return SolutionFailed(Verdict.NO_CUSTOM_KERNEL, reason)
