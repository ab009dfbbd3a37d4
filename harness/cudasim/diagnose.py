"""The blame for a failed build: it is the solution's, or the simulator has a gap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path, PurePath
from typing import Literal

from harness.cudasim.unsupported import UNSUPPORTED_MARK, library_of

_SHOWN_ERRORS = 5
_SHOWN_WIDTH = 160
_FARTHEST_USE = 40
"""Lines of a log between an error and its use."""

_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:]*(?=:\d)|<command-line>):((?P<line>\d+):)?(?:\d+:)? (?:fatal )?error: (?P<message>.*)$"
)
_USE = re.compile(
    r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?:\d+:)? +"
    r"((recursively )?required (from|by)|note: in expansion of macro|in ‘constexpr’ expansion)"
)
_INCLUSION = re.compile(r"^(In file included| +) from (?P<file>[^:]+):(?P<line>\d+)")
# The toolkit's headers and torch's, of which some are .cuh, too.
_NOBODY_WROTE = re.compile(r"(^|/)sim-[0-9a-f]{16}/headers/|/torch/include/")
_SNIPPET = re.compile(r"^ *\d+ \| (?P<code>.*)$")
_QUOTED = re.compile(r"[‘'`]([^’']*)[’']")

# What a CUDA header would declare: if we lack it, the gap is ours.
_CUDA_NAME = re.compile(
    r"\b(__\w+|cu(blas|dnn|fft|rand|solver|sparse)?[A-Z]\w*|cuda\w+|CU\w+|TORCH_CUDA\w+|sim(::|_)\w*|atomic\w+|make_\w+|\w*(half|bfloat16|bf16)\w*"
    r"|h(exp|log|sin|cos|sqrt)\w*"
    r"|(u?(char|short|int|long|longlong)|float|double)[1-4]|dim3|(thread|block)Idx|(block|grid)Dim|warpSize"
    r"|tex\w+|surf\w+|cub|thrust|cg|cooperative_groups|wmma|nvcuda|cute|cutlass|u?l{0,2}(max|min)"
    r"|(a?(sin|cos|tan)h?|(sin|cos|sincos)(pi)?|exp(2|10|m1)?|log(2|10|1p|b)?|r?sqrt|r?cbrt|pow|fma|fmax|fmin|fabs|fmod"
    r"|floor|ceil|round|rint|trunc|nearbyint|erfc?(inv|x)?|[lt]gamma|r?hypot|atan2|copysign|fdivide|norm\w*)f)\b"
)
# torch's own for CUDA, of which our headers hold a part.
_TORCH_CUDA = re.compile(r"\b(at|c10|torch)::(cuda|native)\b")
# In C++ a solution's own functions may well be called cuda_forward().
_CUDA_NAME_IN_CPP = re.compile(r"(cuda[A-Z]|cu[A-Z]|CU[A-Z]*_|cu(blas|dnn|fft|rand|sparse|solver)[A-Z])\w*")
_MISSING_HEADER = re.compile(r"^(?P<header>\S+): No such file or directory")
_SURELY_WRONG = re.compile(
    r"assignment of read-only |.*of non-class type ‘(const )?(float|double|int|bool)\**’"
    r"|‘(const )?struct (u?(char|short|int|long|longlong)|float|double)[1-4]’ has no member"
)
# A statement of ours can't be why the one above it isn't ended.
_NOT_ENDED = re.compile(r"expected (‘,’ or )?‘;’ before ‘(sim_sync|atomic)\w+’")
_STATEMENT = re.compile(r"\s*(__sync|atomic)\w+\s*\(")
# Taken out of the language with CUDA 13 or long before, or misspelt; nvcc doesn't know them either.
_GONE_FROM_CUDA = re.compile(
    r"__shfl(_up|_down|_xor)?|__any|__all|__ballot|cudaThreadSynchronize|cudaBindTexture\w*|__syncthread"
)

_UNDECLARED = re.compile(
    r"^‘(?P<name>[^’]*)’ (was not declared in this scope|has not been declared|does not name a type"
    r"|is not a member of ‘(?P<owner>[^’]*)’|is not a member)"
)
_SYNTAX = re.compile(
    r"^(expected |stray |unterminated |missing terminating |extraneous )|at end of input|else’ without"
)
# What the translator rewrites, and what only the headers for nvcc define, torch's among them.
_MACRO_OF_OURS = re.compile(r"<<<|__shared__|\b__\w+|\bC10_[A-Z]\w*")
_ARGUMENTS = re.compile(
    r"^too (few|many) arguments to function|^(redefinition of|redeclaration of|conflicting declaration) "
    r"|^declaration of .* shadows a parameter"
)
_TORCH_NAME = re.compile(r"\b(at|c10|torch)::")
_SHARED_LIMIT = "uses too much shared data"
# Like errors of syntax and of arguments: full headers have them, too.
_NO_HEADER_HELPS = re.compile(
    r"^(cannot convert |could not convert |conversion from |invalid (conversion|operands) "
    r"|lvalue required|static assertion failed)|has no member named"
)
# Full headers have no use for a second PYBIND11_MODULE either, which load_inline() adds for `functions`.
_MODULE_TWICE = re.compile(r"^redefinition of ‘PyObject\* PyInit_")
_LACKS_SOMETHING = re.compile(r"/headers/slim/|/torch/include/")
_IN_NAMESPACE = re.compile(r"\bnamespace\s+(at|c10|torch|pybind11|py)\b(?!::cuda)")
_OF_TORCH = re.compile(r"::|^[A-Z][A-Z0-9_]+$")
# Of torch's headers for CUDA, which torch/extension.h leaves out.
_TORCH_CUDA_MACRO = re.compile(r"(C10|AT)_CUDA_\w+")
_LINKED_TWICE = re.compile(r": multiple definition of `(?P<name>[^']+)'")
# Our overloads are CUDA's, so that nvcc can't choose either.
_AMBIGUOUS = re.compile(r"^call of overloaded ‘(max|min)\(.*’ is ambiguous")


@dataclass(frozen=True)
class BuildDiagnosis:
    """The reason of a failed build: `compile_error` only where it can't be our gap. `summary` is fit for a report."""

    kind: Literal["compile_error", "unsupported"]
    summary: str
    is_of_device: bool = True
    """True where CUDA code or nvcc's command line is at fault: nvcc itself knows better there, and never sees C++."""


@dataclass(frozen=True)
class _CompilerError:
    file: str
    line: int
    message: str
    code: str
    is_in_device_code: bool
    """True also for a header that such code includes."""
    is_nobody_s: bool = False
    """True where it lies in a header of torch's or ours and nothing but its inclusion led there."""

    def __str__(self) -> str:
        place = f"{PurePath(self.file).name}:{self.line}: {_shortened(self.message)}"
        return f"{place}\n    {_shortened(self.code.strip())}" if self.code.strip() else place


def diagnose_build_log(log: str) -> BuildDiagnosis:
    """Read what torch raised for a failed build: ninja's output with the compilers' messages in it."""
    lines = log.splitlines()
    errors = list(_errors(lines))
    device = [error for error in errors if error.is_in_device_code]
    host = [error for error in errors if not error.is_in_device_code]
    refused = next((line for line in lines if line.startswith(UNSUPPORTED_MARK)), None)
    usage = next((line for line in lines if line.startswith("nvcc fatal")), None)
    if usage is not None:
        return BuildDiagnosis("compile_error", usage)
    # Of each file's errors, later ones may follow from the first.
    if host and _is_theirs_in_cpp(host[0]):
        return BuildDiagnosis("compile_error", _summary(host + device), is_of_device=False)
    if refused is not None:
        return BuildDiagnosis("unsupported", refused.removeprefix(UNSUPPORTED_MARK).strip())
    if device:
        kind: Literal["compile_error", "unsupported"]
        kind = "compile_error" if _is_theirs(device[0]) else "unsupported"
        return BuildDiagnosis(kind, _summary(device))
    if host:
        return BuildDiagnosis("unsupported", _summary(host), is_of_device=False)
    twice = next((match["name"] for match in map(_LINKED_TWICE.search, lines) if match), None)
    if twice is not None:
        return _blame_for_two(twice)
    return BuildDiagnosis("unsupported", _ending(lines))


def _blame_for_two(name: str) -> BuildDiagnosis:
    """Blame the solution for two modules; two of another symbol may be a device function's, which nvcc keeps apart."""
    said = f"multiple definition of '{name}'"
    if not name.startswith("PyInit_"):
        return BuildDiagnosis("unsupported", said, is_of_device=False)
    why = "two files have a PYBIND11_MODULE (load_inline adds one to main.cpp for `functions`)"
    return BuildDiagnosis("compile_error", f"{said}: {why}", is_of_device=False)


def _ending(lines: list[str]) -> str:
    """Return the last lines that may be shown, the last one in any case."""
    shown = ""
    for line in reversed([line for line in lines if line.strip()]):
        if shown and len(line) + len(shown) >= _SHOWN_WIDTH:
            break
        shown = f"{line}\n{shown}" if shown else _shortened(line)
    return shown


def was_too_slim(log: str, source: str) -> bool:
    """Tell whether a compiler's messages on `source` may come of torch's slim headers, and full ones would help."""
    errors = [match for match in map(_ERROR.match, log.splitlines()) if match]
    if any(_MODULE_TWICE.match(error["message"]) for error in errors):
        return False
    return not errors or any(_may_be_cured(error["file"], error["message"], source) for error in errors)


def _may_be_cured(file: str, message: str, source: str) -> bool:
    if _LACKS_SOMETHING.search(file) or "harness::" in message:
        return True
    undeclared = _UNDECLARED.match(message)
    if undeclared and undeclared["owner"]:
        return not re.match(r"(at|c10)::(\w+::)*cuda\b", undeclared["owner"])
    if undeclared and _TORCH_CUDA_MACRO.fullmatch(undeclared["name"]):
        return False
    if undeclared:
        is_of_torch = _OF_TORCH.search(undeclared["name"]) or message[undeclared.end() :].startswith(" in ‘")
        return bool(is_of_torch or _IN_NAMESPACE.search(source))
    return not any(pattern.search(message) for pattern in (_SYNTAX, _ARGUMENTS, _MISSING_HEADER, _NO_HEADER_HELPS))


def _errors(lines: list[str]) -> Iterator[_CompilerError]:
    for i, text in enumerate(lines):
        match = _ERROR.match(text)
        if match is None:
            continue
        place = match["file"], int(match["line"] or 0)  # what the command defines has no line
        use = place if _is_users(match["file"]) else _place_of_use(lines, i)
        source = use or _place_of_inclusion(lines, i) or place
        is_nobody_s = use is None and _NOBODY_WROTE.search(match["file"]) is not None
        file, line = source if is_nobody_s else use or place
        is_in_device_code = PurePath(source[0]).suffix in (".cu", ".cuh")
        yield _CompilerError(file, line, match["message"], _snippet(lines, i), is_in_device_code, is_nobody_s)


def _is_users(file: str) -> bool:
    """Tell whether it is a file of the solution's, or one that torch made of it."""
    is_source = PurePath(file).suffix in (".cu", ".cuh") or PurePath(file).name == "main.cpp"
    return is_source and not _NOBODY_WROTE.search(file)


def _place_of_use(lines: list[str], index: int) -> tuple[str, int] | None:
    """Find the user's line that used the template or the macro in which an error lies. g++ names the use of a template
    before the error, that of a macro behind it."""
    above, below = lines[max(0, index + 1 - _FARTHEST_USE) : index], lines[index + 1 : index + _FARTHEST_USE]
    before = takewhile(lambda line: not _INCLUSION.match(line), reversed(above))
    behind = takewhile(lambda line: not _ERROR.match(line), below)
    for match in map(_USE.match, (*before, *behind)):
        if match and _is_users(match["file"]):
            return match["file"], int(match["line"])
    return None


def _place_of_inclusion(lines: list[str], index: int) -> tuple[str, int] | None:
    """The user's line that the last chain of inclusions before an error begins with."""
    for i in range(index - 1, -1, -1):
        match = _INCLUSION.match(lines[i])
        if match and _is_users(match["file"]):
            return match["file"], int(match["line"])
    return None


def _snippet(lines: list[str], index: int) -> str:
    match = _SNIPPET.match(lines[index + 1]) if index + 1 < len(lines) else None
    return match["code"] if match else ""


def _is_theirs_in_cpp(error: _CompilerError) -> bool:
    """Say whether the solution is to blame for an error in C++, which a real compiler compiles with our headers."""
    return not (error.is_nobody_s or _lacks_cuda_name(error) or _is_about_torch_cuda(error) or _lacks_library(error))


def _lacks_cuda_name(error: _CompilerError) -> bool:
    undeclared = _UNDECLARED.match(error.message)
    if undeclared is None or not _CUDA_NAME_IN_CPP.fullmatch(undeclared["name"]):
        return False
    return undeclared["name"] not in _names_in("sim/runtime_*.h")


@cache
def _names_in(headers: str) -> frozenset[str]:
    """Read what our headers declare: where that is undeclared, none of them was included."""
    texts = (path.read_text() for path in (Path(__file__).parent / "include").glob(headers))
    return frozenset(name for text in texts for name in re.findall(r"\w+", text))


def _lacks_library(error: _CompilerError) -> bool:
    missing = _MISSING_HEADER.match(error.message)
    return missing is not None and library_of(missing["header"]) is not None


def _is_about_torch_cuda(error: _CompilerError) -> bool:
    undeclared = _UNDECLARED.match(error.message)
    if undeclared and undeclared["name"] in _names_in("*/cuda/*"):
        return False
    return any(_TORCH_CUDA.search(name) for name in _QUOTED.findall(error.message))


def _is_theirs(error: _CompilerError) -> bool:
    """Say whether nvcc would refuse it as well."""
    if error.is_nobody_s:
        return False
    if _SHARED_LIMIT in error.message or _AMBIGUOUS.match(error.message) or _SURELY_WRONG.match(error.message):
        return True
    if _NOT_ENDED.match(error.message) and _STATEMENT.match(error.code):
        return True
    if _is_about_torch_cuda(error):
        return False
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
    """Cut a text, and leave out the values of template parameters."""
    text = re.sub(r" \[with .*", "", text)
    return text if len(text) <= _SHOWN_WIDTH else text[: _SHOWN_WIDTH - 1] + "…"
