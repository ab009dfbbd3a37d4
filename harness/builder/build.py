"""Building a solution's extensions in a worker that doesn't see the GPU, and judging what the compiler said."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.builder.compiler_log import compiler_errors, first_line, is_refusal, kernel_resources, without_middle
from harness.builder.extension_cache import log_of, nvcc_calls_of
from harness.builder.texts import Texts, compilers_of
from harness.builder.workers import Workers, bring, seen_files
from harness.devices import FLAGS, SimUnavailable, diagnose_build_log, find_compiler
from harness.errors import MachineError
from harness.model.build import ExtensionBuild
from harness.model.config import LimitsConfig
from harness.model.environment import BackendName
from harness.model.record import hash_contents
from harness.model.verdict import Verdict
from harness.plain_file import open_plain
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import SolutionRaised, TextsNotBuilt, WorkerProcess
from harness.sandbox.wire.codec import encode_value
from harness.sandbox.wire.extension_text import ExtensionText
from harness.sandbox.wire.messages import Construct, Constructed, ExtensionReport, Load, Loaded, Raised, Request
from harness.workspace.solution import Solution

_LOG_BYTES = 4 * 2**20
_TRIAL_S = 60
_LACKS_HIP = re.compile(r"fatal error: hip/\S+: No such file|Unknown option '?--offload-arch")
_NO_HIP = "its kernels are in HIP, and torch isn't built for AMD's GPUs here"
_OF_AMD = "run it where torch is built for ROCm; nothing is said of it here"
_MOST_ROUNDS = 8
"""The most times that a solution is loaded and constructed anew with what it came to: an extension may need another."""


class CompilerRefused(SolutionFailed):
    """A compiler refused the extension `name`, known by `key`; `errors` are its words. `nvcc_knows`: it was the
    simulator's on CUDA code, where the real nvcc may be of another opinion."""

    def __init__(self, verdict: Verdict, report: ExtensionReport, errors: str, log: Path, nvcc_knows: bool) -> None:
        what = "can't be simulated" if verdict is Verdict.UNSUPPORTED else "doesn't compile"
        reason = f"extension '{report.name}' {what}: {first_line(errors)}"
        super().__init__(verdict, reason, f"{errors}\n\nwhole log: {log}")
        self.name = report.name
        self.key = report.key
        self.errors = errors
        self.log = log
        self.nvcc_knows = nvcc_knows


@dataclass(frozen=True)
class BuildOutcome:
    """The result of the build stage; `failed` ends the evaluation: a compiler refused, or something of ours broke."""

    builds: tuple[ExtensionBuild, ...]
    failed: Exception | None
    seconds: float
    calls: Mapping[str, Path] = field(default_factory=dict)
    """Files that may say how a build called nvcc, by the key of an extension for the simulator."""
    compilers: str | None = None
    """The digest of compilers that Load has, for the workers that run what was built."""
    missing: tuple[str, ...] = ()
    """A sentence on each extension that wasn't built; unless that `failed`, the solution goes on without it."""
    beyond_simulator: tuple[str, ...] = ()
    """Those of `missing` that a GPU's compiler may well build."""


def build(
    workers: Workers,
    solution: Solution,
    init_inputs: list[Any],
    limits: LimitsConfig,
    sha256: str | None = None,
    wanted: Sequence[ExtensionText] = (),
) -> BuildOutcome:
    """Load and construct the solution for its extensions' sake, and have built what it comes to and what is `wanted`,
    until it comes to nothing new; `sha256` is its folder's.

    Whatever else goes wrong here is not decided here: without a GPU in sight an honest solution may raise, and the
    worker that measures will meet the same error if it is real.

    Raises: MachineError, Interrupted.
    """
    started = time.monotonic()
    texts = Texts(workers, hash_contents(seen_files(solution.folder).items()), limits.build_s)
    unbuilt = [*texts.known(), *wanted]
    made: dict[str, ExtensionReport] = {}
    try:
        for rounds_left in range(_MOST_ROUNDS, -1, -1):
            is_built = rounds_left > 0 and texts.build(unbuilt, made)
            compilers = compilers_of(workers) if is_built else None  # else its workers build for themselves
            with workers.start(for_build=True) as worker:
                path = bring(worker, solution.folder, sha256, compilers)
                load = Load(path, "ModelNew", FLAGS, compilers, workers.host.seen_gpu())
                reported = _follow(worker, (load, Construct(encode_value(init_inputs), 0)), limits)
                unbuilt = reported.unbuilt
                if not unbuilt:
                    reports = _merged(reported.reports, made, texts.built() if compilers else ())
                    return _outcome(reports, reported.failed, worker, time.monotonic() - started, compilers)
        raise AssertionError("a worker that builds for itself reports no texts")
    except SolutionFailed as error:  # of a build, which takes too long or too much memory
        return BuildOutcome((), error, time.monotonic() - started)


@dataclass
class _Captured:
    """The extensions that a worker came to on its way through the solution, and what ended that."""

    reports: list[ExtensionReport] = field(default_factory=list)
    unbuilt: list[ExtensionText] = field(default_factory=list)
    failed: SolutionFailed | None = None


def _follow(worker: WorkerProcess, requests: Sequence[Request], limits: LimitsConfig) -> _Captured:
    reported = _Captured()
    for request in requests:
        try:
            reply = worker.ask(request, limits.build_s)
            assert isinstance(reply, (Loaded, Constructed))
            reported.reports += reply.extensions
        except TextsNotBuilt as error:
            reported.unbuilt += error.texts
        except SolutionRaised as error:
            reported.reports += error.raised.extensions
            reported.failed = compile_failure(error.raised, worker)
            return reported
        except SolutionFailed as error:
            reported.failed = error
            return reported
    return reported


def _merged(
    reports: Sequence[ExtensionReport], made: Mapping[str, ExtensionReport], known: Sequence[ExtensionReport]
) -> list[ExtensionReport]:
    """Return a report per extension, as it was made if that was now; add those that an earlier worker met in
    forward()."""
    latest = {report.key: report for report in (*known, *reports)}
    return [made.get(key, report) for key, report in latest.items()]


def _outcome(
    reports: Sequence[ExtensionReport],
    failed: SolutionFailed | None,
    worker: WorkerProcess,
    seconds: float,
    compilers: str | None,
) -> BuildOutcome:
    builds = tuple(_extension_build(report, log_of(worker, report.key)) for report in reports)
    is_simulated = worker.backend == "sim"
    calls = {one.key: nvcc_calls_of(worker, one.key) for one in builds} if is_simulated else {}
    failing = [made for made, report in zip(builds, reports, strict=True) if not report.succeeded]
    if not is_simulated:
        return BuildOutcome(builds, failed, seconds, calls, compilers, tuple(map(_missing, failing)))
    diagnoses = {made: diagnose_build_log(made.output) for made in failing}
    said = {made: _missing(made, diagnosis.summary) for made, diagnosis in diagnoses.items()}
    beyond = tuple(said[made] for made, diagnosis in diagnoses.items() if diagnosis.kind != "compile_error")
    return BuildOutcome(builds, failed, seconds, calls, compilers, tuple(said.values()), beyond)


def _missing(build: ExtensionBuild, errors: str = "") -> str:
    return (
        f"extension '{build.name}' wasn't built, and the solution goes on without it: "
        f"{first_line(errors or compiler_errors(build.output)) or 'its log is empty'}"
    )


def compile_failure(raised: Raised, worker: WorkerProcess) -> SolutionFailed | None:
    """The verdict where a compiler's refusal is behind the exception; None where it has another cause.

    Raises: MachineError where there is no compiler that could have refused.
    """
    refused = [report for report in raised.extensions if not report.succeeded]
    if not refused:
        return None
    report = refused[-1]
    path = log_of(worker, report.key)
    log = read_beginning(path)
    if not is_refusal(log):
        _require_compiler(worker.backend)
    if _LACKS_HIP.search(log):
        return SolutionFailed(Verdict.UNSUPPORTED, _NO_HIP, compiler_errors(log) or raised.message, _OF_AMD)
    if worker.backend == "cuda":  # a refusal of the real compiler is the solution's fault; the simulator may have gaps
        return CompilerRefused(Verdict.COMPILE_ERROR, report, compiler_errors(log) or raised.message, path, False)
    diagnosis = diagnose_build_log(log)
    verdict = Verdict.COMPILE_ERROR if diagnosis.kind == "compile_error" else Verdict.UNSUPPORTED
    return CompilerRefused(verdict, report, diagnosis.summary or raised.message, path, diagnosis.is_of_device)


def _require_compiler(backend: BackendName) -> None:
    """Look for ourselves: a log is a worker's, and may say anything. Raises: MachineError."""
    try:
        if backend == "sim":
            find_compiler()
            return
        command = shlex.split(os.environ.get("CXX") or "c++")
        subprocess.run(
            [*command, "-fsyntax-only", "-x", "c++", os.devnull], capture_output=True, check=True, timeout=_TRIAL_S
        )
    except (SimUnavailable, OSError, subprocess.SubprocessError) as error:
        raise MachineError(f"nothing can be built here, since the C++ compiler doesn't work: {error}") from error


def _extension_build(report: ExtensionReport, path: Path) -> ExtensionBuild:
    log = read_beginning(path)
    return ExtensionBuild(
        name=report.name,
        key=report.key,
        was_cached=report.was_cached,
        seconds=report.seconds,
        log=str(path),
        kernels=kernel_resources(log),
        output=without_middle(log),
    )


def read_beginning(path: Path) -> str:
    """The beginning of a text. A worker wrote it: it may be a pipe, a link to anywhere, or endless."""
    try:
        with open_plain(path, follows_link=False) as file:
            return file.read(_LOG_BYTES).decode(errors="replace")
    except OSError:
        return ""
