"""The real nvcc on what the simulator's nvcc was asked to compile: for the GPU, as far as one gets without a GPU.

`-cubin` alone: no host code is made, which takes most of nvcc's time, and nothing is linked. Torch's headers are slim
where the source can do with them, as in a build for a GPU; a CPU build of torch lacks some that CUDA builds generate,
and machines without CUDA's libraries lack theirs, so absent_headers/ comes last and fills what isn't there.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.sandbox.wire.layout import scratch_folder, solutions_folder
from harness.sandbox.wire.messages import CompiledForGpu, CompileForGpu, NvccCall, NvccRun
from harness.worker.cubin import constant_bytes
from harness.worker.slim_build import HEADERS, is_final, needs_full_headers, write_headers

ABSENT = Path(__file__).parent / "absent_headers"
SIMULATED = "sm_90"
"""The architecture that torch asks for where neither the solution nor the environment names another architecture."""

_MOST_ARCHITECTURES = 3
_SHOWN_BYTES = 60_000
_CUBIN_BYTES = 2**28
_DRY_RUN_S = 60

_ARCHITECTURE = {"-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code"}
_DROPPED_WITH_VALUE = {
    *_ARCHITECTURE,
    *("-o", "--output-file", "-MF", "--dependency-output", "-MT", "--dependency-target-name", "-MQ"),
}
_SEPARATE = {"-dc", "--device-c"}
_DROPPED = {
    *("-c", "--compile", "-dw", "-shared", "--shared", "-dlto", "--dlink-time-opt", "-MD", "-MMD", "-M", "-MM", "-MP"),
    *("--generate-dependencies-with-compile", "--generate-nonsystem-dependencies-with-compile"),
}
_NAMED = re.compile(r"\b(?:sm|compute|lto)_(\d{2,3}[af]?)\b")
_MADE = re.compile(r"\bcode=.*")


def compile_for_gpu(request: CompileForGpu, folder: Path) -> CompiledForGpu:
    """Compile one call after the other, each for its architectures, up to the first that fails. `folder` is the
    worker's."""
    runs: list[NvccRun] = []
    for number, call in enumerate(request.calls):
        place = scratch_folder(folder) / "nvcc" / str(number)
        for architecture in wanted_architectures(call.arguments, request.architectures):
            runs.append(_GpuCompilation(request.nvcc, _placed(call, place, folder), place, architecture).run())
            if runs[-1].exit_code:
                return CompiledForGpu(tuple(runs))
    return CompiledForGpu(tuple(runs))


def wanted_architectures(arguments: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """Return what the flags of a build name, the newest of many; `otherwise` where that is nothing, or what torch
    adds."""
    named: list[str] = []
    for option, value in _options(arguments):
        if option in _ARCHITECTURE:
            made = _MADE.search(value)
            named += [f"sm_{number}" for number in _NAMED.findall(made[0] if made else value)]
    own = list(dict.fromkeys(named))
    return tuple(own[-_MOST_ARCHITECTURES:]) if own and own != [SIMULATED] else tuple(otherwise)


def cubin_arguments(call: NvccCall) -> list[str]:
    """The build's own, without what they make and for which GPU."""
    kept: list[str] = []
    for option, value in _options(call.arguments):
        if option in _SEPARATE:
            kept.append("-rdc=true")
        elif option not in _DROPPED and option not in _DROPPED_WITH_VALUE and value != call.source:
            kept.append(value)
    return kept


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each argument as (option, itself), but what takes a value of no more concern to us as (option, value)."""
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        name, equals, value = argument.partition("=")
        if name not in _DROPPED_WITH_VALUE:
            yield argument, argument
        elif equals:
            yield name, value
        else:
            yield name, rest.pop(0) if rest else ""


def _placed(call: NvccCall, place: Path, folder: Path) -> NvccCall:
    """The call for a source that is there: of the solution's files, or written anew as the build generated it."""
    place.mkdir(parents=True, exist_ok=True)
    if solutions_folder(folder) in Path(call.source).parents and Path(call.source).is_file():
        return call
    source = place / Path(call.source).name
    source.write_text(call.text)
    arguments = [str(source) if argument == call.source else argument for argument in call.arguments]
    if solutions_folder(folder) in Path(call.source).parents:  # a solution generated it there
        arguments.append(f"-I{Path(call.source).parent}")
    return replace(call, source=str(source), arguments=tuple(arguments))


@dataclass(frozen=True)
class _GpuCompilation:
    """One file for one architecture."""

    nvcc: str
    call: NvccCall
    place: Path
    architecture: str

    def run(self) -> NvccRun:
        """Compile with slim headers where that may do; what fails for want of a header may be right, and is tried with
        all."""
        is_slim = not needs_full_headers(self.call.text)
        run = self._run_with(self._slim_headers() if is_slim else [])
        if is_slim and run.exit_code and not run.refuses_command and not is_final(run.output):
            first_s = run.seconds
            run = self._run_with([])
            return replace(run, seconds=first_s + run.seconds)
        return run

    def _slim_headers(self) -> list[str]:
        generated = self.place / "headers"
        write_headers(generated, self.call.text, self.call.text)
        return [f"-I{generated}", f"-I{HEADERS}"]

    def _run_with(self, first: list[str]) -> NvccRun:
        cubin, log = self.place / "out.cubin", self.place / "log"
        started = time.monotonic()
        with log.open("wb") as file:
            command = [self.nvcc, "-cubin", f"-arch={self.architecture}", *first, *cubin_arguments(self.call)]
            command += ["-Xptxas=-v", f"-Xcompiler=-idirafter,{ABSENT}", self.call.source, "-o", str(cubin)]
            code = subprocess.run(
                command, cwd=self.place, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            ).returncode
        seconds = time.monotonic() - started
        output = _ends_of(log)
        constants = constant_bytes(_beginning_of(cubin)) if code == 0 else {}
        refusal = self._refused_command() if code and "nvcc fatal" in output else None
        cubin.unlink(missing_ok=True)
        return NvccRun(
            architecture=self.architecture,
            exit_code=code,
            seconds=seconds,
            output=refusal or output,
            refuses_command=refusal is not None,
            constants=constants,
        )

    def _refused_command(self) -> str | None:
        """Return what nvcc says of the command as the build gave it, where it refuses that: then ours isn't at
        fault."""
        command = [self.nvcc, "--dryrun", *self.call.arguments]
        try:
            tried = subprocess.run(
                command, cwd=self.place, stdin=subprocess.DEVNULL, capture_output=True, timeout=_DRY_RUN_S
            )
        except subprocess.TimeoutExpired:
            return None
        said = tried.stderr.decode(errors="replace")[:_SHOWN_BYTES]
        return said if tried.returncode and "nvcc fatal" in said else None


def _ends_of(log: Path) -> str:
    """Read the log's beginning and end; a flood's middle is nobody's concern."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size <= 2 * _SHOWN_BYTES:
            return file.read().decode(errors="replace")
        head = file.read(_SHOWN_BYTES)
        file.seek(size - _SHOWN_BYTES)
        return f"{head.decode(errors='replace')}\n[…]\n{file.read().decode(errors='replace')}"


def _beginning_of(cubin: Path) -> bytes:
    try:
        with cubin.open("rb") as file:
            return file.read(_CUBIN_BYTES)
    except OSError:
        return b""
