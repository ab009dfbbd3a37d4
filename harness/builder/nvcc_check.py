"""Having a machine's nvcc compile, for GPUs that aren't there, what was built for the simulator.

It happens in a worker that runs nothing of the solution's but that is confined and watched like one which builds, for
what a compiler reads and does is the solution's text. What came of it is kept with the solution's builds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from harness.builder.build import BuildOutcome, read_beginning
from harness.builder.compiler_log import kernel_resources, what_follows, without_middle
from harness.builder.extension_cache import keep_text
from harness.builder.workers import Workers, bring
from harness.devices import Nvcc
from harness.errors import HarnessError
from harness.model.build import ExtensionBuild, KernelResources, NvccCheck
from harness.model.config import NvccConfig
from harness.plain_file import parse_json, read_text
from harness.sandbox.folder import show_text
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.process import SolutionRaised, WorkerProcess
from harness.sandbox.wire.codec import decode, encode
from harness.sandbox.wire.layout import WORKER_PLACE
from harness.sandbox.wire.messages import CompiledForGpu, CompileForGpu, NvccCall, NvccRun

_MOST_CALLS = 16
_KEPT_BYTES = 2**26
_OWN_FILES = ("gpu_compilation.py", "cubin.py", "slim_build.py", "headers", "absent_headers")


@dataclass(frozen=True)
class Opinion:
    """The opinion of nvcc on one extension, and what ptxas said of its kernels where it compiles."""

    check: NvccCheck
    kernels: tuple[KernelResources, ...] = ()


Opinions = Mapping[str, Opinion]
"""Opinions by the key of the extension; extensions that nvcc wasn't called for are missing."""


def ask_nvcc(
    nvcc: Nvcc, workers: Workers, config: NvccConfig, built: BuildOutcome, folder: Path, sha256: str | None
) -> dict[str, Opinion]:
    """Opinions of all extensions that were built for the simulator and whose builds called nvcc. `folder` is the
    solution's, and `sha256` its hash.

    Raises: Interrupted. Whatever else goes wrong leaves them unchecked, with a reason.
    """
    questions = [_Question(build, built.calls.get(build.key), nvcc, config) for build in built.builds]
    asked = [question for question in questions if question.text]
    opinions = {question.key: kept for question in asked if (kept := question.kept())}
    left = [question for question in asked if question.key not in opinions]
    return {**opinions, **(_ask(left, workers, folder, sha256) if left else {})}


class _Question:
    """One extension: how its build called nvcc, and where the answer is kept."""

    def __init__(self, build: ExtensionBuild, calls: Path | None, nvcc: Nvcc, config: NvccConfig) -> None:
        self.key = build.key
        self.nvcc = nvcc
        self.config = config
        self.text = read_beginning(calls) if calls else ""
        asked = self.text.replace(build.key, "")  # part of the folder's name in which a source was generated
        facts = (asked, nvcc.path, nvcc.version, *config.architectures, torch.__version__, _digest_of_own())
        name = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:32]
        self._kept_at = calls.parent.parent / "nvcc" / f"{name}.json" if calls else None

    def kept(self) -> Opinion | None:
        if self._kept_at is None:
            return None
        try:
            runs = decode(CompiledForGpu, parse_json(read_text(self._kept_at, _KEPT_BYTES))).runs
        except (OSError, ValueError):
            return None
        return self.opinion(runs, was_cached=True)

    def keep(self, runs: tuple[NvccRun, ...]) -> None:
        if self._kept_at is not None:
            with contextlib.suppress(OSError):
                keep_text(self._kept_at, json.dumps(encode(CompiledForGpu(runs))))

    def calls(self, folder: Path) -> tuple[NvccCall, ...]:
        """Return the calls for a worker in `folder`. Raises: ValueError where a worker wrote what is no call."""
        calls = parse_json(self.text)
        if not isinstance(calls, list):
            raise ValueError("no list")
        if len(calls) > _MOST_CALLS:
            raise ValueError(f"{len(calls)} files of CUDA, and {_MOST_CALLS} are looked at")
        return tuple(_moved(decode(NvccCall, call), str(folder)) for call in calls)

    def opinion(self, runs: tuple[NvccRun, ...], was_cached: bool) -> Opinion:
        """Form an opinion from runs made in WORKER_PLACE."""
        outcome, words = what_follows(runs)
        kernels: tuple[KernelResources, ...] = ()
        if outcome == "accepted":
            kernels = tuple(kernel for run in runs for kernel in kernel_resources(run.output, run.constants))
        output = show_text("".join(run.output for run in runs), Path(WORKER_PLACE))
        check = NvccCheck(
            outcome=outcome,
            nvcc=self.nvcc.version,
            architectures=tuple(dict.fromkeys(run.architecture for run in runs)) or self.config.architectures,
            seconds=sum(run.seconds for run in runs),
            was_cached=was_cached,
            words=words,
            output=without_middle(output),
        )
        return Opinion(check, kernels)

    def unchecked(self, why: str) -> Opinion:
        return Opinion(NvccCheck("unchecked", self.nvcc.version, self.config.architectures, 0.0, False, why[:1000]))


def _ask(questions: list[_Question], workers: Workers, folder: Path, sha256: str | None) -> dict[str, Opinion]:
    opinions: dict[str, Opinion] = {}
    deadline = time.monotonic() + questions[0].config.timeout_s
    try:
        with workers.start(for_build=True) as worker:
            bring(worker, folder, sha256)
            for question in questions:
                opinions[question.key] = _opinion(question, worker, deadline)
    except (SolutionFailed, SolutionRaised, HarnessError, OSError) as error:
        # Of the machine, or of nvcc: out of time, memory or disk. What was found before it stands.
        words = str(error) or type(error).__name__
        return {question.key: question.unchecked(words) for question in questions} | opinions
    return opinions


def _opinion(question: _Question, worker: WorkerProcess, deadline: float) -> Opinion:
    """Have nvcc compile one extension. Raises: as WorkerProcess.ask()."""
    try:
        calls = question.calls(worker.folder)
    except ValueError as error:
        return question.unchecked(f"its build left no readable account of its calls of nvcc ({error})")
    request = CompileForGpu(question.nvcc.path, calls, question.config.architectures)
    reply = worker.ask(request, max(1.0, deadline - time.monotonic()))
    assert isinstance(reply, CompiledForGpu)
    runs = tuple(replace(run, output=run.output.replace(str(worker.folder), WORKER_PLACE)) for run in reply.runs)
    question.keep(runs)
    return question.opinion(runs, was_cached=False)


def _moved(call: NvccCall, folder: str) -> NvccCall:
    """Return the call as in a worker's folder, instead of in WORKER_PLACE."""
    arguments = tuple(argument.replace(WORKER_PLACE, folder) for argument in call.arguments)
    return replace(call, arguments=arguments, source=call.source.replace(WORKER_PLACE, folder))


def _digest_of_own() -> str:
    """Hash what decides how the same calls come out."""
    package = Path(__file__).parents[1] / "worker"
    named = [package / name for name in _OWN_FILES]
    files = sorted(file for place in named for file in (place, *place.rglob("*")) if file.is_file())
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:16]
