"""Running one arm under compute-sanitizer, a tool after the other, and telling whose each finding is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from harness.builder.compiler_log import demangled
from harness.model.build import ExtensionBuild
from harness.model.instruments import WHAT_IT_FINDS, SanitizerFinding, SanitizerTool, Sanitizing, ToolRun
from harness.referee.audit.kernels import Origins, in_framework_libraries, own_kernels
from harness.referee.audit.run_time import Written
from harness.run.gpu_lock import alone_on_gpu
from harness.sandbox.wire.device import KernelRun
from harness.tools.arm_task import CUDA_FILE, Calls, InlineSource
from harness.tools.bench import Bench, bench_for
from harness.tools.sanitizer_log import Reported, SanitizerLog, read_log
from harness.tools.target import Inspection, Target, refusal
from harness.tools.tool_process import Ended

_VARIABLES = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""The variable that keeps torch from cutting tensors out of blocks of 2 MiB, where an access beside a tensor is still
inside of an allocation, and memory that was somebody's before counts as initialised."""
_PADDING_BYTES = 4096
"""The padding between allocations, so that what lies beside one belongs to none."""
_LINE = re.compile(r"(\S+?\.\w+:\d+)$")
_LAST_WORDS = 500


def run_sanitizer(asked: Inspection, tools: Iterable[SanitizerTool], say: Callable[[str], None]) -> Sanitizing:
    """`say` is told what is being done.

    Raises: MachineError with the remedy; ArmFailed where the arm fails and no tool says why; InvalidFile.
    """
    runs: list[ToolRun] = []
    protections: tuple[str, ...] = ()
    with bench_for(asked.target, asked.results, asked.limits, say) as bench, alone_on_gpu(say):
        for tool in tools:
            say(f"{tool}: {WHAT_IT_FINDS[tool]}")
            runs.append(look(bench, tool, asked))
            protections = bench.report().protections
    return Sanitizing(
        problem=asked.target.problem.name,
        case=asked.target.case,
        solution=asked.target.solution.name if asked.target.solution else None,
        gpu=asked.gpu,
        runs=tuple(runs),
        protections=protections,
    )


def sanitizer_command(program: Path, tool: SanitizerTool, log: Path) -> list[str]:
    """Return what goes before the program's command. Kernels are named by their symbols, which show whose they are."""
    padding = ["--padding", str(_PADDING_BYTES)] if tool == "memcheck" else []
    return [str(program), "--tool", tool, "--demangle", "no", "--log-file", str(log), *padding]


def look(bench: Bench, tool: SanitizerTool, asked: Inspection) -> ToolRun:
    """One tool over one call, without a warm-up: every launch is looked at, and once is enough.

    Raises: ArmFailed where the arm fails and the tool finds nothing; MachineError.
    """
    log, printed = asked.folder / f"{tool}.log", asked.folder / f"{tool}-output.log"
    log.unlink(missing_ok=True)
    command = sanitizer_command(asked.program, tool, log)
    ended = bench.run(command, Calls("plain", 1, warm_ups=0), printed, asked.timeout_s, _VARIABLES)
    said = read_log(log.read_text(encoding="utf-8", errors="replace") if log.exists() else "", tool)
    report = bench.report()
    findings = judged(said.reported, bench.builds, report.sources, asked.target)
    complaint = _complaint(said, ended, printed)
    if complaint is None and not findings:
        bench.require_done(ended, printed)
    elif complaint is None and report.stage != "end" and not any(finding.is_own for finding in findings):
        complaint = f"the call didn't come to its end ({ended.words}), so not all was looked at"
    return ToolRun(tool, ended.seconds, findings, said.total, said.unprinted, str(log), complaint)


def judged(
    reported: Iterable[Reported],
    builds: Sequence[ExtensionBuild],
    sources: Sequence[InlineSource],
    target: Target,
) -> tuple[SanitizerFinding, ...]:
    """Say what was reported, in the solution's own lines, and whose it is."""
    folder = target.solution.folder if target.solution else None
    written = Written(builds, target.solution.texts() if target.solution else {})
    origins = Origins(own_kernels(builds), (), in_framework_libraries, written.leaves_to_torch)
    libraries = tuple(f" in {build.name}.so" for build in builds)

    def finding(one: Reported) -> SanitizerFinding:
        found = one.finding
        (name,) = demangled([found.kernel]) if found.kernel else (None,)
        source, text = locate(found.source, sources, folder) if found.source else (None, None)
        return replace(
            found,
            kernel=name,
            is_own=target.solution is not None and _is_own(one, name, origins, libraries),
            source=source,
            text=text,
            details=tuple(_LINE.sub(lambda m: locate(m[1], sources, folder)[0], line) for line in found.details),
        )

    return tuple(finding(one) for one in reported)


def locate(place: str, sources: Sequence[InlineSource], solution: Path | None) -> tuple[str, str | None]:
    """The line that the author wrote, for one that a tool names ('/any/where/cuda.cu:12'): 'solution.py:31', and its
    text, which is None where it isn't at hand. `solution` is its folder.

    Where several extensions have such a file nobody can tell which one is meant.
    """
    path, _, digits = place.rpartition(":")
    name, line = Path(path).name, int(digits)
    if name == CUDA_FILE and len(sources) == 1:
        (source,) = sources
        return _inside(source, line - source.lines_before, solution) or (f"{name}:{line}", None)
    file = solution / name if solution else None
    return f"{name}:{line}", _line(file.read_text(errors="replace"), line) if file and file.is_file() else None


def _inside(source: InlineSource, line: int, solution: Path | None) -> tuple[str, str] | None:
    """The line of solution.py where the text stands there as it is, else of the text."""
    text = _line(source.text, line)
    if text is None:
        return None
    file = solution / "solution.py" if solution else None
    whole = file.read_text(encoding="utf-8", errors="replace") if file and file.is_file() else ""
    start = whole.find(source.text) if source.text.strip() else -1
    if start < 0:
        return f"cuda_sources:{line}", text
    return f"solution.py:{whole.count(chr(10), 0, start) + line}", text


def _line(text: str, line: int) -> str | None:
    lines = text.split("\n")
    return lines[line - 1].strip() if 0 < line <= len(lines) else None


def _is_own(one: Reported, name: str | None, origins: Origins, libraries: tuple[str, ...]) -> bool:
    """Tell by the kernel, as in a trace; a call by whether the solution's compiled code made it: torch and cuDNN try
    calls that fail, and that they get over."""
    if one.finding.kernel is None or name is None:
        return any(frame.endswith(libraries) for frame in one.frames)
    return origins.of(KernelRun(one.finding.kernel, 0, 0, 0, "kernel"), name) == "own"


def _complaint(said: SanitizerLog, ended: Ended, printed: Path) -> str | None:
    """Say why the tool didn't see all there is; None where it did."""
    words = printed.read_text(encoding="utf-8", errors="replace")
    if said.complaints:
        text = "; ".join(said.complaints)
        remedy = refusal(text)
        return f"{text}: {remedy}" if remedy else text
    if ended.code is None:
        return f"{ended.words}; a smaller case takes less, --timeout gives more"
    if said.total is None:
        return refusal(words) or f"wrote no summary ({ended.words}): {words[-_LAST_WORDS:].strip() or 'said nothing'}"
    return None
