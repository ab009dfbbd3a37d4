"""The stand-in for nvcc: translates a .cu file and compiles it with g++ against the simulator's headers."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness.backends.sim.call_notes import note_call
from harness.backends.sim.flags import DEVICE_FLAGS, without_tuning
from harness.backends.sim.nvcc_options import IGNORED_ALONE, IGNORED_WITH_VALUE
from harness.backends.sim.slim import can_be_slim, was_too_slim
from harness.backends.sim.translate import Unsupported, translate

UNSUPPORTED_MARK = "harness-sim-unsupported:"
UNSUPPORTED_EXIT = 3

_HOST_WITH_VALUE = ("-I", "-isystem", "-include", "-D", "-U")
_LONG_HOST = {
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--pre-include": "-include",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
}


class UsageError(Exception):
    """What nvcc itself would refuse, in its words."""


@dataclass
class Invocation:
    """One call of nvcc, as far as a CPU cares."""

    source: Path | None = None
    output: Path | None = None
    standard: str = "-std=c++17"
    host: list[str] = field(default_factory=list)
    """Preprocessor options and what -Xcompiler hands through."""
    dependencies: list[str] = field(default_factory=list)


def main(arguments: list[str], toolkit: Path) -> int:
    """nvcc's exit status; 3 for a construct that can't be simulated."""
    if "--version" in arguments or "-V" in arguments:
        print("nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.0 (simulated)")
        return 0
    note_call(arguments)
    try:
        invocation = parse(arguments)
        return _compile(invocation, toolkit)
    except UsageError as error:
        print(f"nvcc fatal   : {error}", file=sys.stderr)
        return 1
    except Unsupported as unsupported:
        print(f"{UNSUPPORTED_MARK} {unsupported}", file=sys.stderr)
        return UNSUPPORTED_EXIT


def parse(arguments: list[str]) -> Invocation:
    """Raises UsageError for an option that nvcc doesn't know."""
    invocation = Invocation()
    rest = [argument for argument in arguments if argument.strip()]
    while rest:
        _take(invocation, rest.pop(0), rest)
    if invocation.source is None:
        raise UsageError("No input files specified; use option --help for more information")
    return invocation


def _take(invocation: Invocation, option: str, rest: list[str]) -> None:
    name, equals, attached = option.partition("=")

    def value() -> str:
        if equals:
            return attached
        if not rest:
            raise UsageError(f"Missing argument for option '{option}'")
        return rest.pop(0)

    if not option.startswith("-"):
        invocation.source = Path(option)
    elif name in ("-o", "--output-file"):
        invocation.output = Path(value())
    elif name in ("-std", "--std"):
        invocation.standard = f"-std={value()}"
    elif name in ("-Xcompiler", "--compiler-options"):
        invocation.host += _host_options(value())
    elif name in ("-MF", "-MT", "-MQ"):
        invocation.dependencies += [name, value()]
    elif option in _HOST_WITH_VALUE or name in _LONG_HOST:
        invocation.host += [_LONG_HOST.get(name, name), value()]
    elif option.startswith(_HOST_WITH_VALUE):
        invocation.host.append(option)
    elif option in IGNORED_ALONE:
        invocation.dependencies += [option] if option in ("-MD", "-MMD") else []
    elif name in IGNORED_WITH_VALUE:
        value()
    elif not re.match(r"-[lLt].", option):
        raise UsageError(f"Unknown option '{option}'")


def _host_options(quoted: str) -> list[str]:
    return without_tuning([option for part in shlex.split(quoted) for option in part.split(",") if option])


def _compile(invocation: Invocation, toolkit: Path) -> int:
    assert invocation.source is not None
    try:
        text = invocation.source.read_text()
    except OSError as error:
        raise UsageError(f"Could not open input file '{invocation.source}' ({error.strerror})") from None
    output = invocation.output or Path(invocation.source.with_suffix(".o").name)
    translated = output.with_suffix(".translated.cpp")
    translated.write_text(translate(text, os.path.abspath(invocation.source)))
    is_slim = can_be_slim(text, is_device=True)
    result = _run_compiler(invocation, toolkit, translated, output, is_slim)
    if result.returncode and is_slim and was_too_slim(result.stderr):
        result = _run_compiler(invocation, toolkit, translated, output, is_slim=False)
    sys.stderr.write(result.stderr)
    return result.returncode


def _run_compiler(
    invocation: Invocation, toolkit: Path, translated: Path, output: Path, is_slim: bool
) -> subprocess.CompletedProcess[str]:
    settings = json.loads((toolkit / "toolkit.json").read_text())
    headers = toolkit / "headers"
    prelude = "prelude_slim.h" if is_slim else "prelude_full.h"
    slim = [f"-I{headers / 'slim'}"] if is_slim else []
    command = [
        *settings["compiler"],
        *DEVICE_FLAGS,
        *settings["machine_flags"],
        invocation.standard,
        *["-include", str(headers / "sim" / prelude)],
        *slim,
        f"-I{headers}",
        *without_tuning(invocation.host),
        *invocation.dependencies,
        *["-c", str(translated), "-o", str(output)],
    ]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
