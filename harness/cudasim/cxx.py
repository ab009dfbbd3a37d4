"""The stand-in for c++: the real compiler, with torch's headers slim where that changes nothing, and precompiled where
functions are only declared."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from harness.cudasim.diagnose import was_too_slim
from harness.cudasim.precompiled import DEVICE_FLAGS, HOST_FLAGS, can_be_slim, without_tuning
from harness.cudasim.tokens import tokenize
from harness.cudasim.unsupported import (
    UNSUPPORTED_EXIT,
    UNSUPPORTED_MARK,
    Unsupported,
    refuse_unsupported,
    without_dead,
)

_FIRST_LINE = "#include <torch/extension.h>\n"
_INCLUDES_OWN = re.compile(r'^\s*#\s*include\s*"', re.MULTILINE)


def main(arguments: list[str], toolkit: Path) -> int:
    """Compile, and return the real compiler's exit status, or UNSUPPORTED_EXIT for what can't be simulated."""
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
    # Whatever goes wrong here: the next one decides, and its words are the ones that are shown.
    fastest = precompiled(arguments, toolkit, settings["machine_flags"])
    if fastest is not None:
        result = _run([*compiler, *fastest])
        if result.returncode == 0:
            return result
    faster = slimmed(arguments, toolkit)
    if faster is not None:
        result = _run([*compiler, *faster])
        if result.returncode == 0 or not was_too_slim(result.stderr, _source(arguments)):
            return result
    return _run([*compiler, *_shims(arguments, toolkit), *arguments])


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")


def _unsupported(arguments: list[str]) -> Unsupported | None:
    """Find what the simulator lacks in a file that doesn't compile; one that does may have it behind an `#ifdef`."""
    source = _source(arguments)
    name = Path(arguments[arguments.index("-c") + 1]).name if source else ""
    try:
        refuse_unsupported(without_dead(tokenize(source)), name)
    except Unsupported as unsupported:
        return unsupported
    return None


def precompiled(arguments: list[str], toolkit: Path, machine_flags: list[str]) -> list[str] | None:
    """Return `arguments` for a file of declarations, rewritten beside the output; None for any other.

    It shares the precompiled header of the .cu files, and so their flags, but for -O2: bindings run once per call.
    """
    source = _source(arguments)
    if "-o" not in arguments[:-1] or not _is_slim(source):
        return None
    text = _bound_slimly(source)
    if text is None:
        return None
    rewritten = Path(arguments[arguments.index("-o") + 1]).with_suffix(".bound.cpp")
    rewritten.write_text(text)
    rest = list(arguments)
    rest[rest.index("-c") + 1] = str(rewritten)
    headers = toolkit / "headers"
    prelude = ["-include", str(headers / "sim" / "prelude_slim.h"), f"-I{headers / 'slim'}", f"-I{headers}"]
    return [*DEVICE_FLAGS, "-O1", *machine_flags, *prelude, *without_tuning(rest)]


def slimmed(arguments: list[str], toolkit: Path) -> list[str] | None:
    """Return `arguments` for a file that torch generated and that needs no more than tensors and functions that Python
    calls; None for any other."""
    source = _source(arguments)
    if not _is_slim(source):
        return None
    return [*HOST_FLAGS, f"-I{toolkit / 'headers/slim'}", *_shims(arguments, toolkit), *without_tuning(arguments)]


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


def _is_slim(source: str) -> bool:
    """Tell whether a text of torch's or alike needs no full headers; what it includes of its own isn't read."""
    return source.startswith(_FIRST_LINE) and not _INCLUDES_OWN.search(source) and can_be_slim(source)


# ---- main.cpp as torch generates it for declared functions.


_GENERATED = re.compile(
    r"PYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\) \{\n"
    r'(m\.def\("(?P<name>\w+)", torch::wrap_pybind_function\((?P=name)\), "[^"\\\n]*"\);\n)+\}\s*\Z'
)
# What follows is compiled after the CUDA headers, which torch's own build of this file doesn't have: so nothing but
# declarations, and no name that those may have brought.
_ONLY_HERE = re.compile(
    r"[{}]|\b(cuda|CUDA|cu[A-Z]|__|dim3|half|nv_|u?(char|short|int|long|longlong|float|double)[1-4]\b|(thread|block|grid)"
    r"(Idx|Dim)|warpSize)|pybind11|\bpy::|\bPy"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def _bound_slimly(source: str) -> str | None:
    """Rewrite the file; None if it holds more than declarations and what load_inline() generates for them."""
    generated = _GENERATED.search(source)
    if generated is None:
        return None
    declarations = source[: generated.start()]
    if _ONLY_HERE.search(_COMMENT.sub("", declarations)):
        return None
    return f"{declarations}\n#include <harness/binding.h>\n{generated[0]}"
