"""The words of compilers: the errors that an author needs, what ptxas says of each kernel, and what follows from a run
of nvcc on a machine without a GPU."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Literal

from harness.devices import UNSUPPORTED_MARK
from harness.model.build import KernelResources
from harness.sandbox.folder import show_text
from harness.sandbox.wire.layout import WORKER_PLACE
from harness.sandbox.wire.messages import NvccRun

_RECORDED_CHARS = 16_000
_MAX_ERRORS = 8
_LINES_AFTER_ERROR = 2
_ERROR = re.compile(r"^(?P<file>[^\s:(][^:(]*)(?:\((?P<nvcc_line>\d+)\)|:(?P<line>\d+)(?::\d+)?): (?:fatal )?error\b:?")
_OTHER_ERROR = re.compile(
    r"^(nvcc fatal|nvcc error|ptxas (fatal|error)|ptxas .*; error|nvlink (fatal|error)|.*undefined reference to|.*ld: "
    r"|/bin/sh: )"
)
_OF_THE_MACHINE = re.compile(
    r"No such file or directory|cannot open source file|cannot find -l|Killed|[Tt]erminated|signal \d|internal compiler"
    r"|[Nn]o space left|[Cc]annot allocate|[Oo]ut of memory|memory exhausted|Resource temporarily|catastrophic error"
    r"|(?m:^/bin/sh: )"
)
_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?P<rest>.*)")
_SHARED = re.compile(r"(\d+) bytes smem")
_CONSTANT = re.compile(r"(\d+) bytes cmem")

_LINES_AFTER_NVCC_ERROR = 40
_SHOWN_CHARS = 300

_NVCC_ERROR = re.compile(
    r"^(?P<file>[^\s:(][^:(]*)(?:\((?P<nvcc_line>\d+)\)|:(?P<line>\d+)(?::\d+)?): "
    r"(?:fatal |catastrophic )?error\b[^:]*: (?P<message>.*)$"
)
_OF_SOURCE_BY_PTXAS = re.compile(r"^ptxas (error|.*; error)|^ptxas fatal\s*: (Unresolved extern|Ptx assembly aborted)")
_OTHER = re.compile(r"^(nvcc|ptxas|cicc|nvlink|gcc|g\+\+|cc1plus)\b.*\b(error|fatal|died|Killed)\b.*$")
_UNKNOWN_GPU = re.compile(r"Unsupported gpu architecture|is not defined for option|not a supported architecture")
_MISSING_FILE = re.compile(r"No such file or directory|cannot open source file|could not open source file")
_LEADS_FROM = re.compile(rf'at line \d+ of "?{re.escape(WORKER_PLACE)}')
# Their headers, and so their names, need not be here (worker/absent_headers).
_OF_ABSENT_HEADERS = re.compile(r"cublas|cusparse|cusolver|cudnn|cufft|curand|magma", re.IGNORECASE)


def compiler_errors(log: str) -> str:
    """The first errors with the lines that show them, folders left off; the log's end where none is recognised."""
    lines = log.splitlines()
    picked: list[str] = []
    count = 0
    for number, line in enumerate(lines):
        if match := _ERROR.match(line):
            shown = [f"{PurePath(match['file']).name}{line[match.end('file') :]}"]
            shown += _context(lines[number + 1 : number + 1 + _LINES_AFTER_ERROR])
        elif _OTHER_ERROR.match(line):
            shown = [line]
        else:
            continue
        count += 1
        if count <= _MAX_ERRORS:
            picked += shown
    if count > _MAX_ERRORS:
        picked.append(f"… and {count - _MAX_ERRORS} more errors")
    return "\n".join(picked) if picked else "\n".join(lines[-15:])


def is_refusal(log: str) -> bool:
    """Say whether a compiler refused the text and would again, with anything installed and any amount of memory."""
    has_error = UNSUPPORTED_MARK in log or any(
        _ERROR.match(line) or _OTHER_ERROR.match(line) for line in log.splitlines()
    )
    return has_error and not _OF_THE_MACHINE.search(log)


def kernel_resources(log: str, constants: Mapping[str, int] | None = None) -> tuple[KernelResources, ...]:
    """Read what `-Xptxas -v` printed: one entry per kernel and architecture, names demangled where c++filt is there.
    `constants`: bytes of constant memory by symbol, which ptxas prints no more since CUDA 13."""
    found: list[KernelResources] = []
    name, arch, stack, stores, loads = "", "", 0, 0, 0
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            name, arch, stack, stores, loads = match["name"], match["arch"], 0, 0, 0
        elif match := _SPILLS.search(line):
            stack, stores, loads = map(int, match.groups())
        elif name and (match := _USED.search(line)):
            shared = _SHARED.search(match["rest"])
            shared_bytes = int(shared[1]) if shared else 0
            banks = [int(size) for size in _CONSTANT.findall(match["rest"])]
            constant = sum(banks) if banks else (constants or {}).get(name)
            found.append(KernelResources(name, arch, int(match[1]), shared_bytes, stores, loads, stack, constant))
            name = ""
    names = demangled([one.kernel for one in found])
    return tuple(replace(one, kernel=readable) for one, readable in zip(found, names, strict=True))


def what_follows(runs: Sequence[NvccRun]) -> tuple[Literal["accepted", "refused", "unchecked"], str]:
    """Tell what all runs of an extension show, made in WORKER_PLACE: that the source is wrong, or only that this
    machine can't tell; with nvcc's words of a refusal, the folders left off, or why nothing follows. The first error
    counts, from which later ones may follow."""
    failed = next((run for run in runs if run.exit_code), None)
    if failed is None:
        return ("accepted", "") if runs else ("unchecked", "nvcc was called with nothing that it compiles")
    gap = _gap(failed)
    if gap is not None:
        return "unchecked", show_text(gap, Path(WORKER_PLACE))[:_SHOWN_CHARS]
    return "refused", show_text(compiler_errors(failed.output), Path(WORKER_PLACE))


def demangled(names: list[str]) -> list[str]:
    """Kernels' symbols as one reads them; unchanged without c++filt."""
    tool = shutil.which("c++filt")
    if not names or tool is None:
        return names
    result = subprocess.run([tool], input="\n".join(names), capture_output=True, text=True, check=False)
    readable = result.stdout.splitlines()
    return readable if len(readable) == len(names) else names


def without_middle(text: str) -> str:
    """Keep what a record holds at most: the beginning and the end, where compilers say what counts."""
    left_out = len(text) - _RECORDED_CHARS
    if left_out <= 0:
        return text
    half = _RECORDED_CHARS // 2
    return f"{text[:half]}\n[… {left_out} characters left out …]\n{text[-half:]}"


def _context(lines: list[str]) -> list[str]:
    kept = []
    for line in lines:
        if not line.strip() or _ERROR.match(line) or not line.startswith((" ", "\t")):
            break
        kept.append(line.rstrip())
    return kept


def _gap(run: NvccRun) -> str | None:
    """Say why the failure shows nothing of the source; None where it does."""
    lines = run.output.splitlines()
    for number, line in enumerate(lines):
        if _UNKNOWN_GPU.search(line):
            return f"this nvcc doesn't know {run.architecture}: {line.strip()}"
        if match := _NVCC_ERROR.match(line):
            context = lines[number + 1 : number + 1 + _LINES_AFTER_NVCC_ERROR]
            return _gap_of_error(match, context)
        if _OF_SOURCE_BY_PTXAS.match(line):
            return None
        if _OTHER.match(line):
            return None if run.refuses_command else line.strip()
    return f"nvcc ended with exit code {run.exit_code} and named no error"


def _gap_of_error(error: re.Match[str], context: Sequence[str]) -> str | None:
    place, message = f"{PurePath(error['file']).name}:{error['nvcc_line'] or error['line']}", error["message"]
    if _MISSING_FILE.search(message):
        return f"a header isn't here: {place}: {message}"
    if _OF_ABSENT_HEADERS.search(message):
        return f"it is about a library whose headers need not be here: {place}: {message}"
    if error["file"].startswith(WORKER_PLACE) or _leads_from(context):
        return None
    return f"the error is in a header: {place}: {message}"


def _leads_from(context: Sequence[str]) -> bool:
    """Say whether the lines below an error in a header name the solution's line that led there."""
    for line in context:
        if _NVCC_ERROR.match(line):
            return False
        if _LEADS_FROM.search(line):
            return True
    return False


def first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")
