"""The stand-in for nvcc: translates a .cu file and compiles it with g++ against the simulator's headers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from harness.cudasim.diagnose import was_too_slim
from harness.cudasim.precompiled import CHECKED_FLAGS, DEVICE_FLAGS, can_be_slim, without_tuning
from harness.cudasim.translate import Translation, registrations
from harness.cudasim.unsupported import UNSUPPORTED_EXIT, UNSUPPORTED_MARK, Unsupported

CALL_SUFFIX = ".nvcc-call.json"
"""Ends the name of what note_call() writes; sandbox.wire.layout.NVCC_CALL is the same."""

_HOST_WITH_VALUE = ("-I", "-isystem", "-include", "-D", "-U")
_LONG_HOST = {
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--pre-include": "-include",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
}
# torch before 2.7 spells these out.
_DEPENDENCIES_ALONE = {
    "--generate-dependencies-with-compile": "-MD",
    "--generate-nonsystem-dependencies-with-compile": "-MMD",
    "-MD": "-MD",
    "-MMD": "-MMD",
}
_DEPENDENCIES_WITH_VALUE = {
    "--dependency-output": "-MF",
    "--dependency-target-name": "-MT",
    "-MF": "-MF",
    "-MT": "-MT",
    "-MQ": "-MQ",
}


# torch's headers refuse it in their first line; g++ would read on, for a minute, and report 20,000 errors.
_TOO_OLD_FOR_TORCH = re.compile(r"-std=(c|gnu)\+\+(98|03|0x|11|14|1y)")
_REFUSED = re.compile(rf"error: (?P<refusal>{UNSUPPORTED_MARK} .*)")
_INCLUDES_TORCH = re.compile(r"^\s*#\s*include\s*[<\"](torch|ATen|c10)/", re.MULTILINE)


class NvccUsageError(Exception):
    """A command line that nvcc itself would refuse, in its words."""


@dataclass
class Invocation:
    """One call of nvcc, as far as a CPU cares."""

    source: Path | None = None
    output: Path | None = None
    standard: str = "-std=c++17"
    host: list[str] = field(default_factory=list)
    """Preprocessor options and what -Xcompiler hands through."""
    dependencies: list[str] = field(default_factory=list)
    is_checked: bool = False


def main(arguments: list[str], toolkit: Path, is_checked: bool = False) -> int:
    """Compile, and return nvcc's exit status, or UNSUPPORTED_EXIT for a construct that can't be simulated."""
    if "--version" in arguments or "-V" in arguments:
        kind = "simulated, checked" if is_checked else "simulated"
        print(f"nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.0 ({kind})")
        return 0
    note_call(arguments)
    try:
        invocation = parse(arguments)
        invocation.is_checked = is_checked
        return _compile(invocation, toolkit)
    except NvccUsageError as error:
        print(f"nvcc fatal   : {error}", file=sys.stderr)
        return 1
    except Unsupported as unsupported:
        print(f"{UNSUPPORTED_MARK} {unsupported}", file=sys.stderr)
        return UNSUPPORTED_EXIT


def parse(arguments: list[str]) -> Invocation:
    """Read a command line. Raises UsageError for an option that nvcc doesn't know."""
    invocation = Invocation()
    rest = [argument for argument in arguments if argument.strip()]
    while rest:
        _take(invocation, rest.pop(0), rest)
    if invocation.source is None:
        raise NvccUsageError("No input files specified; use option --help for more information")
    return invocation


def _take(invocation: Invocation, option: str, rest: list[str]) -> None:
    name, equals, attached = option.partition("=")

    def value() -> str:
        if equals:
            return attached
        if not rest:
            raise NvccUsageError(f"Missing argument for option '{option}'")
        return rest.pop(0)

    if not option.startswith("-"):
        invocation.source = Path(option)
    elif name in ("-o", "--output-file"):
        invocation.output = Path(value())
    elif name in ("-std", "--std"):
        invocation.standard = f"-std={value()}"
    elif name in ("-Xcompiler", "--compiler-options"):
        invocation.host += _host_options(value())
    elif name in _DEPENDENCIES_WITH_VALUE:
        invocation.dependencies += [_DEPENDENCIES_WITH_VALUE[name], value()]
    elif option in _DEPENDENCIES_ALONE:
        invocation.dependencies.append(_DEPENDENCIES_ALONE[option])
    elif option in _HOST_WITH_VALUE or name in _LONG_HOST:
        invocation.host += [_LONG_HOST.get(name, name), value()]
    elif option.startswith(_HOST_WITH_VALUE):
        invocation.host.append(option)
    elif option in _IGNORED_ALONE:
        pass
    elif name in _IGNORED_WITH_VALUE:
        value()
    elif not re.match(r"-[lLt].", option):
        raise NvccUsageError(f"Unknown option '{option}'")


def _host_options(quoted: str) -> list[str]:
    return without_tuning([option for part in shlex.split(quoted) for option in part.split(",") if option])


def _compile(invocation: Invocation, toolkit: Path) -> int:
    assert invocation.source is not None
    output = Path(os.path.abspath(invocation.output or invocation.source.with_suffix(".o").name))
    translated = output.with_suffix(".translated.cpp")
    source = Path(os.path.abspath(invocation.source))
    translation = Translation(_user_folders(invocation), output.with_suffix(".headers"))
    try:
        text = translation.translate(source)
        translated.write_text(text + registrations(translation.texts))
    except OSError as error:
        raise NvccUsageError(f"Could not open input file '{invocation.source}' ({error.strerror})") from None
    written = "\n".join(translation.texts.values())
    if _TOO_OLD_FOR_TORCH.fullmatch(invocation.standard) and _INCLUDES_TORCH.search(written):
        raise NvccUsageError(f"torch's headers need C++17 or later, not {invocation.standard}")
    if "PYBIND11_MODULE" in written:
        invocation.host.append("-DHARNESS_SIM_BINDS")
    is_slim = can_be_slim(written)
    result = _run_compiler(invocation, toolkit, translated, output, is_slim)
    refused = _REFUSED.search(result.stderr) if result.returncode else None
    if refused:
        print(refused["refusal"], file=sys.stderr)
        return UNSUPPORTED_EXIT
    if result.returncode and is_slim and was_too_slim(result.stderr, written):
        result = _run_compiler(invocation, toolkit, translated, output, is_slim=False)
    sys.stderr.write(result.stderr)
    if "-MF" in invocation.dependencies and result.returncode == 0:
        translation.name_originals(Path(invocation.dependencies[invocation.dependencies.index("-MF") + 1]))
    return result.returncode


def _user_folders(invocation: Invocation) -> list[Path]:
    """List the folders of -I: torch names its own and the toolkit's with -isystem."""
    options = iter(invocation.host)
    named = [next(options) if option == "-I" else option[2:] for option in options if option.startswith("-I")]
    return [Path(os.path.abspath(folder)) for folder in named]


def _run_compiler(
    invocation: Invocation, toolkit: Path, translated: Path, output: Path, is_slim: bool
) -> subprocess.CompletedProcess[str]:
    settings = json.loads((toolkit / "toolkit.json").read_text())
    headers = toolkit / "headers"
    width = "slim" if is_slim else "full"
    prelude = f"prelude_checked_{width}.h" if invocation.is_checked else f"prelude_{width}.h"
    slim = [f"-I{headers / 'slim'}"] if is_slim else []
    command = [
        *settings["compiler"],
        *(CHECKED_FLAGS if invocation.is_checked else DEVICE_FLAGS),
        *settings["machine_flags"],
        invocation.standard,
        *["-include", str(headers / "sim" / prelude), "-include", str(headers / "sim/after_prelude.h")],
        *slim,
        f"-I{headers}",
        *without_tuning(invocation.host),
        *invocation.dependencies,
        *["-c", str(translated), "-o", str(output)],
    ]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)


def note_call(arguments: list[str]) -> None:
    """Write what the real nvcc would be asked into the build's folder, for a machine that has one, even if we can't
    simulate it or don't know an option. Does nothing if no source can be read."""
    sources = [argument for argument in arguments if argument.endswith(".cu") and not argument.startswith("-")]
    try:
        source = sources[-1]
        text = Path(source).read_text(errors="replace")
    except (IndexError, OSError):
        return
    if not text:
        return
    name = hashlib.sha256(source.encode()).hexdigest()[:16]
    Path(f"{name}{CALL_SUFFIX}").write_text(json.dumps({"arguments": arguments, "source": source, "text": text}))


# ---- Options that mean nothing to a CPU, in long and short spelling, as `nvcc --help` of CUDA 13 has them.


_WITH_VALUE = """
    -arch --gpu-architecture -code --gpu-code -gencode --generate-code -Xptxas --ptxas-options -Xlinker
    --linker-options -Xcudafe -Xnvlink --nvlink-options -Xarchive -Xfatbin -maxrregcount --maxrregcount -ccbin
    --compiler-bindir -diag-suppress --diag-suppress -diag-error --diag-error -diag-warn --diag-warn -threads
    --threads -t -split-compile --split-compile -rdc --relocatable-device-code -odir --output-directory -cudart
    --cudart -ftz --ftz -prec-div --prec-div -prec-sqrt --prec-sqrt -fmad --fmad -default-stream --default-stream
    -x --x -l --library -L --library-path -m --machine -Werror --Werror -optf --options-file
"""

_ALONE = """
    -c --compile -dc --device-c -dw -g --debug -G --device-debug -lineinfo --generate-line-info -use_fast_math
    --use_fast_math -O -O0 -O1 -O2 -O3 -w --disable-warnings -v --verbose -keep --keep -pg --profile -m64
    -expt-relaxed-constexpr --expt-relaxed-constexpr -expt-extended-lambda --expt-extended-lambda -extended-lambda
    --extended-lambda -shared --shared -restrict --restrict -res-usage --resource-usage -allow-unsupported-compiler
    --allow-unsupported-compiler -extra-device-vectorization --extra-device-vectorization -dlto --dlink-time-opt
    -Wno-deprecated-gpu-targets -Wno-deprecated-declarations -Wreorder -Wext-lambda-captures-this
    -forward-unknown-to-host-compiler --forward-unknown-to-host-compiler -src-in-ptx --source-in-ptx -time --time
    -display-error-number --display-error-number -no-display-error-number --no-display-error-number
    -err-no -M -MM -MP --generate-dependency-targets
"""

_IGNORED_WITH_VALUE = frozenset(_WITH_VALUE.split())
_IGNORED_ALONE = frozenset(_ALONE.split())
