"""Whose fault a failed build is: the solution's, or a gap in the simulator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from harness.backends.sim.nvcc import UNSUPPORTED_MARK

_SHOWN_ERRORS = 5
_SHOWN_WIDTH = 160

_ERROR = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<message>.*)$")
_PLACE = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):")
# The toolkit's headers and torch's, of which some are .cuh, too.
_NOBODY_WROTE = re.compile(r"(^|/)sim-[0-9a-f]{16}/headers/|/torch/include/")
_SNIPPET = re.compile(r"^ *\d+ \| (?P<code>.*)$")
_QUOTED = re.compile(r"[‘'`]([^’']*)[’']")

# What a CUDA header would declare: if we lack it, the gap is ours.
_CUDA_NAME = re.compile(
    r"\b(__\w+|cu[A-Z]\w*|cuda\w+|CU\w+|sim(::|_)\w*|atomic\w+|make_\w+|\w*(half|bfloat16|bf16)\w*"
    r"|h(exp|log|sin|cos|sqrt)\w*"
    r"|(u?(char|short|int|long|longlong)|float|double)[1-4]|dim3|(thread|block)Idx|(block|grid)Dim|warpSize"
    r"|tex\w+|surf\w+|cub|thrust|cg|cooperative_groups|wmma|nvcuda|cute|cutlass|u?l{0,2}(max|min)"
    r"|(a?(sin|cos|tan)h?|(sin|cos|sincos)(pi)?|exp(2|10|m1)?|log(2|10|1p|b)?|r?sqrt|r?cbrt|pow|fma|fmax|fmin|fabs|fmod"
    r"|floor|ceil|round|rint|trunc|nearbyint|erfc?(inv|x)?|[lt]gamma|r?hypot|atan2|copysign|fdivide|norm\w*)f)\b"
)
# Taken out of the language with CUDA 13 or long before; nvcc doesn't know them either.
_GONE_FROM_CUDA = re.compile(r"__shfl(_up|_down|_xor)?|__any|__all|__ballot|cudaThreadSynchronize|cudaBindTexture\w*")

_UNDECLARED = re.compile(
    r"^‘(?P<name>[^’]*)’ (was not declared in this scope|has not been declared|does not name a type"
    r"|is not a member of ‘(?P<owner>[^’]*)’|is not a member)"
)
_SYNTAX = re.compile(
    r"^(expected |stray |unterminated |missing terminating |extraneous )|at end of input|else’ without"
)
# What the translator rewrites, and what only the headers for nvcc define, torch's among them.
_MACRO_OF_OURS = re.compile(r"<<<|__shared__|\b__\w+|\bC10_[A-Z]\w*")
_ARGUMENTS = re.compile(r"^too (few|many) arguments to function|^redefinition of |^conflicting declaration ")
_TORCH_NAME = re.compile(r"\b(at|c10|torch)::")
_SHARED_LIMIT = "uses too much shared data"
# Our overloads are CUDA's, so that nvcc can't choose either.
_AMBIGUOUS = re.compile(r"^call of overloaded ‘(max|min)\(.*’ is ambiguous")


@dataclass(frozen=True)
class BuildDiagnosis:
    """`compile_error` only where it can't be our gap. `summary` is fit for a report."""

    kind: Literal["compile_error", "unsupported"]
    summary: str
    is_of_device: bool = True
    """Of CUDA code or of nvcc's command line, on which the real nvcc knows better; of C++ it is never asked."""


@dataclass(frozen=True)
class _CompilerError:
    file: str
    line: int
    message: str
    code: str

    @property
    def is_in_device_code(self) -> bool:
        return PurePath(self.file).suffix in (".cu", ".cuh")

    def __str__(self) -> str:
        place = f"{PurePath(self.file).name}:{self.line}: {_shortened(self.message)}"
        return f"{place}\n    {_shortened(self.code.strip())}" if self.code.strip() else place


def diagnose_build_log(log: str) -> BuildDiagnosis:
    """Reads what torch raised for a failed build: ninja's output with the compilers' messages in it."""
    lines = log.splitlines()
    errors = list(_errors(lines))
    device = [error for error in errors if error.is_in_device_code]
    host = [error for error in errors if not error.is_in_device_code]
    refused = next((line for line in lines if line.startswith(UNSUPPORTED_MARK)), None)
    usage = next((line for line in lines if line.startswith("nvcc fatal")), None)
    if usage is not None:
        return BuildDiagnosis("compile_error", usage)
    if host:
        return BuildDiagnosis("compile_error", _summary(host + device), is_of_device=False)
    if refused is not None:
        return BuildDiagnosis("unsupported", refused.removeprefix(UNSUPPORTED_MARK).strip())
    if device:
        # Later errors may follow from the first.
        first = device[0]
        kind: Literal["compile_error", "unsupported"]
        kind = "compile_error" if _is_users(first.file) and _is_theirs(first) else "unsupported"
        return BuildDiagnosis(kind, _summary(device))
    return BuildDiagnosis("unsupported", _shortened("\n".join(line for line in lines if line.strip())[-_SHOWN_WIDTH:]))


def _errors(lines: list[str]) -> Iterator[_CompilerError]:
    for i, text in enumerate(lines):
        match = _ERROR.match(text)
        if match is None:
            continue
        file, line = match["file"], int(match["line"])
        if not _is_users(file):
            file, line = _place_of_use(lines, i) or (file, line)
        yield _CompilerError(file, line, match["message"], _snippet(lines, i))


def _is_users(file: str) -> bool:
    """A file of the solution's, or one that torch made of it."""
    is_source = PurePath(file).suffix in (".cu", ".cuh") or PurePath(file).name == "main.cpp"
    return is_source and not _NOBODY_WROTE.search(file)


def _place_of_use(lines: list[str], index: int) -> tuple[str, int] | None:
    """For an error inside a header: the user's line that led there, which g++ names before or after it."""
    before = range(index - 1, max(-1, index - 40), -1)
    after = range(index + 1, min(len(lines), index + 40))
    for i in [*before, *after]:
        match = _PLACE.match(lines[i])
        if match and _is_users(match["file"]):
            return match["file"], int(match["line"])
    return None


def _snippet(lines: list[str], index: int) -> str:
    match = _SNIPPET.match(lines[index + 1]) if index + 1 < len(lines) else None
    return match["code"] if match else ""


def _is_theirs(error: _CompilerError) -> bool:
    """Whether nvcc would refuse it as well."""
    if _SHARED_LIMIT in error.message or _AMBIGUOUS.match(error.message):
        return True
    undeclared = _UNDECLARED.match(error.message)
    if undeclared:
        name = undeclared["name"]
        is_of_cuda = _CUDA_NAME.search(name) or _CUDA_NAME.search(undeclared["owner"] or "")
        return _GONE_FROM_CUDA.fullmatch(name) is not None or not is_of_cuda
    if _SYNTAX.search(error.message):
        return not _CUDA_NAME.search(error.message) and not _MACRO_OF_OURS.search(error.code)
    names = _QUOTED.findall(error.message)
    is_about_cuda = any(_CUDA_NAME.search(name) for name in names)
    if _ARGUMENTS.match(error.message):
        return not is_about_cuda
    return not is_about_cuda and any(_TORCH_NAME.search(name) for name in names)


def _summary(errors: list[_CompilerError]) -> str:
    distinct = list(dict.fromkeys(str(error) for error in errors))
    left = len(distinct) - _SHOWN_ERRORS
    return "\n".join([*distinct[:_SHOWN_ERRORS], *([f"and {left} more"] if left > 0 else [])])


def _shortened(text: str) -> str:
    """Without the values of template parameters, and cut."""
    text = re.sub(r" \[with .*", "", text)
    return text if len(text) <= _SHOWN_WIDTH else text[: _SHOWN_WIDTH - 1] + "…"
