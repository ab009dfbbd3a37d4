"""Audit whether the solution's own kernels do the work: in one traced case, and over all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.model.trace import Trace, TracedKernel
from harness.model.verdict import Verdict
from harness.referee.audit.kernels import is_fill, maker_of
from harness.referee.audit.operators import took_all_of
from harness.sandbox.outcome import SolutionFailed

_SOME = 1 / 16
"""Own kernels that took this share of a missing part's time, or of that of all in its place, have done some of it."""
_SMALL = 0.01
"""Own kernels with less than this share of the device's time must have done more of such a part (_AS_LONG)."""
_AS_LONG = 0.25
"""Other kernels of the framework that take at least this share of a missing part's time have done that part."""


@dataclass(frozen=True)
class TracedCase:
    """A case with a traced turn, in which nobody was deceived. `accused`: why its work was not the solution's own."""

    case: str
    trace: Trace | None
    accused: SolutionFailed | None = None
    remarks: tuple[str, ...] = ()
    is_compared: bool = False
    """True where values of it were compared with the oracle's."""


def accused_of(cases: Sequence[TracedCase], standing: str | None) -> TracedCase | None:
    """The case that convicts the solution, if any.

    `standing` names the case that stands for the solution, such as the timed one on a GPU: it convicts alone. The other
    cases with compared values convict where the framework did the work in all of them: leaving some sizes to the
    framework, for which one has no kernel, is honest.
    """
    for one in cases:
        if one.case == standing and one.accused:
            return one
    compared = [one for one in cases if one.is_compared] or cases
    return compared[-1] if compared and all(one.accused for one in compared) else None


def remarks_on(cases: Sequence[TracedCase]) -> tuple[str, ...]:
    return tuple(f"{one.case}: not the solution's own work: {one.accused}" for one in cases if one.accused)


def require_custom(trace: Trace, reference: Trace | None, least_share: float = 0.0) -> tuple[str, ...]:
    """Require that own kernels replace a part of the reference and take `least_share` of the device's time.

    Returns remarks. Raises: SolutionFailed.
    """
    own = [kernel for kernel in trace.kernels if kernel.origin == "own"]
    framework = [kernel for kernel in trace.kernels if kernel.origin == "framework"]
    listed = ", ".join(kernel.name[:80] for kernel in framework[:3])
    if not own and framework:
        raise no_custom_kernel(f"no kernel of the solution's ran, only the framework's: {listed}")
    if not own:
        raise no_custom_kernel("no kernel of the solution's ran; the device only moved data, if anything")
    share = trace.own_share
    if share is None:
        return _require_untimed(trace, reference, listed, least_share)
    own_ns, framework_ns = (sum(kernel.ns for kernel in kernels) for kernels in (own, framework))
    if reference is not None and 2 * own_ns <= framework_ns:
        _require_a_part(trace, reference, share, listed)
    if share < least_share:
        raise no_custom_kernel(
            f"the solution's own kernels took {share:.2%} of the device's time; {least_share:.2%} are asked for"
        )
    return ()


def _require_a_part(trace: Trace, reference: Trace, share: float, listed: str) -> None:
    """Require that the framework left a part of the reference to own kernels, with this share of the device's time. It
    did all by the same kernels, or by others beside which the own ones took hardly any time. Raises: SolutionFailed."""
    ran = _by_name(trace, (kernel for kernel in trace.kernels if kernel.origin != "own"))
    wanted = _by_name(reference, reference.kernels)
    missing, instead = _by_maker(_more_of(wanted, ran)), _by_maker(_more_of(ran, wanted))
    own_ns = sum(kernel.ns for kernel in trace.kernels if kernel.origin == "own") / trace.calls
    some = _SOME if share >= _SMALL else _AS_LONG
    has_some = any(own_ns >= some * min(ns, own_ns + _in_place_of(maker, instead)) for maker, ns in missing.items())
    if not wanted or has_some or _is_left_undone(missing, instead):
        return
    how = "by other kernels" if missing else "itself"
    raise no_custom_kernel(
        f"the framework did all that the reference consists of {how}, and the solution's own kernels took "
        f"{share:.2%} of the device's time: {listed}"
    )


def _by_name(trace: Trace, kernels: Iterable[TracedKernel]) -> dict[str, tuple[float, float]]:
    """Launches and ns per call of each kernel. A copy is a part of the work, a fill isn't."""
    return {
        kernel.name: (kernel.launches / trace.calls, kernel.ns / trace.calls)
        for kernel in kernels
        if not is_fill(kernel.name)
    }


def _more_of(one: Mapping[str, tuple[float, float]], other: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """Return for each kernel the ns per call of the launches that `one` has beyond `other`."""
    more = {name: launches - other.get(name, (0.0, 0.0))[0] for name, (launches, _) in one.items()}
    return {name: one[name][1] * count / one[name][0] for name, count in more.items() if count > 0}


def _is_left_undone(missing: Mapping[str, float], instead: Mapping[str, float]) -> bool:
    """Say whether the framework's other kernels leave some of a missing part undone."""
    return "compiled" not in instead and any(
        _in_place_of(maker, instead) < _AS_LONG * needed_ns for maker, needed_ns in missing.items()
    )


def _in_place_of(maker: str, instead: Mapping[str, float]) -> float:
    """The ns of what may stand in a maker's place: a library's kernel can replace another of a library, one of
    torch.compile any, and any one of these."""
    if maker == "compiled":
        return sum(instead.values())
    return instead.get(maker, 0.0) + instead.get("compiled", 0.0)


def _by_maker(kernels: Mapping[str, float]) -> dict[str, float]:
    ns: dict[str, float] = defaultdict(float)
    for name, spent in kernels.items():
        ns[maker_of(name)] += spent
    return ns


def _require_untimed(trace: Trace, reference: Trace | None, listed: str, least_share: float) -> tuple[str, ...]:
    """Require own work on the simulator, where the elements given to operators stand for the time of kernels."""
    if reference is not None and took_all_of(trace, reference):
        raise no_custom_kernel(f"the framework did all that the reference consists of itself: {listed}")
    remarks = [f"beside the solution's own kernels the framework ran {listed}"] if listed else []
    remarks += ["nothing is timed here, so min_own_share isn't judged"] if least_share else []
    return tuple(f"{trace.case}: {remark}" for remark in remarks)


def no_custom_kernel(reason: str) -> SolutionFailed:
    return SolutionFailed(Verdict.NO_CUSTOM_KERNEL, reason)
