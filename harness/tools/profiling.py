"""Profiling one arm: a timeline of its calls, then Nsight Compute's counters of each kernel."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from harness.builder.compiler_log import demangled
from harness.errors import MachineError
from harness.model.build import ExtensionBuild
from harness.model.instruments import DeviceTimeline, KernelCounters, Profile
from harness.model.plural import several
from harness.run.gpu_lock import alone_on_gpu
from harness.tools.arm_task import CUDA_FILE, Calls, InlineSource
from harness.tools.bench import Bench, bench_for
from harness.tools.chrome_trace import NoTrace, read_timeline
from harness.tools.nsight import CounterRequest, counting_command, read_counters, reading_command
from harness.tools.target import Inspection, refusal

_CALLS = 3
"""The calls in the timeline: the pauses between them show as well."""
_NOTHING = "No kernels were profiled"
_LAST_WORDS = 2_000


def run_profile(asked: Inspection, counting: CounterRequest, say: Callable[[str], None]) -> Profile:
    """`say` is told what is being done.

    Raises: MachineError with the remedy; ArmFailed; InvalidFile.
    """
    with bench_for(asked.target, asked.results, asked.limits, say) as bench, alone_on_gpu(say):
        say("recording the timeline")
        log = asked.folder / "timeline.log"
        report = bench.require_done(bench.run([], Calls("traced", _CALLS), log, asked.timeout_s), log)
        timeline = _timeline(bench, asked.folder / "timeline.json")
        say("counting with Nsight Compute")
        kernels = count_kernels(bench, asked, counting, report.sources)
        return Profile(
            problem=asked.target.problem.name,
            case=asked.target.case,
            solution=asked.target.solution.name if asked.target.solution else None,
            gpu=asked.gpu,
            kernels=named(kernels, bench.builds),
            timeline=timeline,
            files=_files(asked.folder),
            protections=report.protections,
            remarks=tuple(remarks(kernels, timeline, counting)),
        )


def _timeline(bench: Bench, kept: Path) -> DeviceTimeline:
    trace = bench.trace()
    try:
        timeline = read_timeline(trace or b"", _CALLS)
    except NoTrace as error:
        raise MachineError(
            f"torch's profiler left no timeline ({error}): another profiler may hold the driver's tracing (CUPTI), or "
            "the solution has ended it or written over its file; timeline.log has what was printed"
        ) from None
    kept.write_bytes(trace or b"")
    return timeline


def count_kernels(
    bench: Bench, asked: Inspection, counting: CounterRequest, sources: Sequence[InlineSource]
) -> tuple[KernelCounters, ...]:
    """Count the kernels of one call; empty where none was launched, or none of that name. Raises: MachineError."""
    report, log, printed = _report_in(asked.folder), asked.folder / "ncu.log", asked.folder / "ncu-output.log"
    report.unlink(missing_ok=True)
    log.unlink(missing_ok=True)
    command = counting_command(asked.program, counting, report, log, write_sources(sources, asked.folder / "sources"))
    ended = bench.run(command, Calls("marked", 1), printed, asked.timeout_s)
    said = "".join(path.read_text(encoding="utf-8", errors="replace") for path in (log, printed) if path.exists())
    if not report.exists():
        remedy = refusal(said)  # first: that of a missing permission is followed by a word on no kernels, too
        if remedy is None and _NOTHING in said and bench.report().stage == "end":
            return ()
        if ended.code is None:
            remedy = remedy or "--timeout gives more, --launches 1 and --kernel count less, a smaller case takes less"
        raise MachineError(
            f"Nsight Compute counted nothing ({ended.words}): {remedy}"
            if remedy
            else f"Nsight Compute counted nothing ({ended.words}); its last words:\n{said[-_LAST_WORDS:]}"
        )
    done = subprocess.run(reading_command(asked.program, report), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineError(f"Nsight Compute can't read its own {report}: {(done.stderr or done.stdout)[-_LAST_WORDS:]}")
    try:
        return read_counters(done.stdout)
    except (KeyError, ValueError, IndexError) as error:
        raise MachineError(f"{report} can't be read ({type(error).__name__}: {error}); open it with ncu-ui") from error


def named(kernels: Sequence[KernelCounters], builds: Iterable[ExtensionBuild]) -> tuple[KernelCounters, ...]:
    """The kernels with readable names, and spilled registers as the compiler counts them for the solution's own."""
    compiled = {resources.kernel: resources for build in builds for resources in build.kernels}
    found = []
    for kernel, name in zip(kernels, demangled([kernel.kernel for kernel in kernels]), strict=True):
        own = compiled.get(name)
        found.append(
            replace(
                kernel,
                kernel=name,
                spill_store_bytes=own.spill_store_bytes if own else None,
                spill_load_bytes=own.spill_load_bytes if own else None,
            )
        )
    return tuple(found)


def remarks(kernels: Sequence[KernelCounters], timeline: DeviceTimeline, counting: CounterRequest) -> Iterable[str]:
    """Say what of a call wasn't counted, and why."""
    launched = math.ceil(sum(row.launches for row in timeline.rows if row.kind == "kernel") / timeline.calls)
    if not launched and kernels:
        yield (
            "the timeline saw no kernel, though Nsight Compute counted some: another profiler may have held the "
            "driver's tracing (CUPTI) meanwhile, or this machine doesn't pass it on"
        )
    elif not launched:
        yield "a call launches no kernel" + ("" if counting.kernel is None else " that the timeline saw")
    elif not kernels and counting.kernel is not None:
        yield f"no kernel's name matches '{counting.kernel}'; the timeline lists them"
    elif counting.kernel is None and len(kernels) < launched:
        some = several(launched, "kernel")
        yield f"a call launches {some}, of which {len(kernels)} were counted; --launches counts more"


def write_sources(sources: Sequence[InlineSource], folder: Path) -> Path:
    """The files as torch wrote them, for Nsight Compute to put into its report; `folder`, made."""
    for number, source in enumerate(sources):
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True)
        (place / CUDA_FILE).write_text("\n" * source.lines_before + source.text, encoding="utf-8", errors="replace")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _files(folder: Path) -> dict[str, str]:
    """Files that exist: without a kernel Nsight Compute writes none."""
    files = {"Nsight Compute": _report_in(folder), "timeline": folder / "timeline.json"}
    return {what: str(path) for what, path in files.items() if path.exists()}


def _report_in(folder: Path) -> Path:
    return folder / "profile.ncu-rep"
