"""What follows from a run of nvcc on a machine without a GPU: that the source is wrong, or only that this machine can't
tell. Of the errors the first one counts, from which later ones may follow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from harness.builder.compiler_log import compiler_errors
from harness.sandbox.folder import show_text
from harness.sandbox.wire.layout import WORKER_PLACE
from harness.sandbox.wire.messages import NvccRun

_CONTEXT_LINES = 40
_SHOWN_CHARS = 300

_ERROR = re.compile(
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


@dataclass(frozen=True)
class Reading:
    """`words` are nvcc's of a refusal, with the folders left off; else why nothing follows; empty where it compiles."""

    outcome: Literal["accepted", "refused", "unchecked"]
    words: str = ""


def what_follows(runs: Sequence[NvccRun]) -> Reading:
    """From all runs of an extension, made in WORKER_PLACE."""
    failed = next((run for run in runs if run.exit_code), None)
    if failed is None:
        return Reading("accepted") if runs else Reading("unchecked", "nvcc was called with nothing that it compiles")
    gap = _gap(failed)
    if gap is not None:
        return Reading("unchecked", show_text(gap, Path(WORKER_PLACE))[:_SHOWN_CHARS])
    return Reading("refused", show_text(compiler_errors(failed.output), Path(WORKER_PLACE)))


def _gap(run: NvccRun) -> str | None:
    """Why the failure says nothing of the source; None where it does."""
    lines = run.output.splitlines()
    for number, line in enumerate(lines):
        if _UNKNOWN_GPU.search(line):
            return f"this nvcc doesn't know {run.architecture}: {line.strip()}"
        if match := _ERROR.match(line):
            context = lines[number + 1 : number + 1 + _CONTEXT_LINES]
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
    """Whether the lines below an error in a header name the solution's line that led there."""
    for line in context:
        if _ERROR.match(line):
            return False
        if _LEADS_FROM.search(line):
            return True
    return False
