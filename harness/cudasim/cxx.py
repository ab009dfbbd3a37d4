"""The stand-in for c++: the real compiler, with torch's header slim and precompiled where that changes nothing, and
without pybind11 where functions are only declared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from harness.cudasim.declared import bound_slimly
from harness.cudasim.flags import DEVICE_FLAGS, HOST_FLAGS, without_tuning
from harness.cudasim.nvcc import UNSUPPORTED_EXIT, UNSUPPORTED_MARK
from harness.cudasim.slim import can_be_slim, was_too_slim
from harness.cudasim.tokens import tokenize
from harness.cudasim.unsupported import Unsupported, refuse_unsupported_in_cpp
from harness.cudasim.unused import without_dead

_FIRST_LINE = "#include <torch/extension.h>\n"


def main(arguments: list[str], toolkit: Path) -> int:
    """The real compiler's exit status; nvcc's where it refuses what can't be simulated."""
    result = _compile(arguments, toolkit)
    unsupported = _unsupported(arguments) if result.returncode else None
    if unsupported is not None:
        print(f"{UNSUPPORTED_MARK} {unsupported}", file=sys.stderr)
        return UNSUPPORTED_EXIT
    sys.stderr.write(result.stderr)
    return result.returncode


def _compile(arguments: list[str], toolkit: Path) -> subprocess.CompletedProcess[str]:
    settings = json.loads((toolkit / "toolkit.json").read_text())
    compiler = settings["compiler"]
    bound = without_pybind(arguments, toolkit, settings["machine_flags"])
    # Whatever goes wrong here: the next one decides, and its words are the ones that are shown.
    if bound is not None:
        result = _run([*compiler, *bound])
        if result.returncode == 0:
            return result
    faster = slimmed(arguments, toolkit)
    if faster is not None:
        result = _run([*compiler, *faster])
        if result.returncode == 0 or not was_too_slim(result.stderr):
            return result
    return _run([*compiler, *_shims(arguments, toolkit), *arguments])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")


def _unsupported(arguments: list[str]) -> Unsupported | None:
    """What of a file that doesn't compile the simulator lacks. One that compiles may hold it, behind an `#ifdef`."""
    source = _source(arguments)
    name = Path(arguments[arguments.index("-c") + 1]).name if source else ""
    try:
        refuse_unsupported_in_cpp(without_dead(tokenize(source)), name)
    except Unsupported as unsupported:
        return unsupported
    return None


def without_pybind(arguments: list[str], toolkit: Path, machine_flags: list[str]) -> list[str] | None:
    """`arguments` for a file of declarations, rewritten beside the output; None for any other.

    It shares the precompiled header of the .cu files, and so their flags.
    """
    source = _source(arguments)
    if "-o" not in arguments[:-1] or not source.startswith(_FIRST_LINE) or not can_be_slim(source, is_device=False):
        return None
    text = bound_slimly(source)
    if text is None:
        return None
    rewritten = Path(arguments[arguments.index("-o") + 1]).with_suffix(".bound.cpp")
    rewritten.write_text(text)
    rest = list(arguments)
    rest[rest.index("-c") + 1] = str(rewritten)
    headers = toolkit / "headers"
    prelude = ["-include", str(headers / "sim" / "prelude_slim.h"), f"-I{headers / 'slim'}", f"-I{headers}"]
    return [*DEVICE_FLAGS, *machine_flags, *prelude, *without_tuning(rest)]


def slimmed(arguments: list[str], toolkit: Path) -> list[str] | None:
    """`arguments` for a file that torch generated and that needs no more than bindings; None for any other."""
    source = _source(arguments)
    if not source.startswith(_FIRST_LINE) or not can_be_slim(source, is_device=False):
        return None
    headers = toolkit / "headers"
    prelude = ["-include", str(headers / "sim" / "prelude_host.h"), f"-I{headers / 'slim'}"]
    return [*HOST_FLAGS, *prelude, *_shims(arguments, toolkit), *without_tuning(arguments)]


def _shims(arguments: list[str], toolkit: Path) -> list[str]:
    """Our CUDA headers, for a build with CUDA sources alone: torch names the toolkit's folder there."""
    return [f"-I{toolkit / 'headers'}"] if str(toolkit / "include") in arguments else []


def _source(arguments: list[str]) -> str:
    if "-c" not in arguments[:-1]:
        return ""
    try:
        return Path(arguments[arguments.index("-c") + 1]).read_text(errors="replace")
    except OSError:
        return ""
