"""Triton, whose interpreter runs a kernel where there is no GPU: what it lacks is no fault of the solution."""

from __future__ import annotations

import re

from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import Raised

_MISSING = re.compile(r"No module named 'triton\b|import of triton\b.* halted|name 'triton' is not defined")
_USE = re.compile(r"\btriton\.\w")
_FRAME = re.compile(r'^ *File "(?:[^"\n]*/)?solution\.py", line (?P<line>\d+).*\n(?P<code>.*)', re.MULTILINE)
_NONE_HAS_NOTHING = "'NoneType' object has no attribute"
"""The error that comes of Triton for those who set the name to None where the import fails."""


def beyond_triton(raised: Raised) -> SolutionFailed | None:
    """Return the failure for an exception, on the simulator, that comes of Triton's absence; else None."""
    frame = next(reversed(list(_FRAME.finditer(raised.traceback))), None)
    is_use_of_none = raised.message.startswith(_NONE_HAS_NOTHING) and frame and _USE.search(frame["code"])
    is_missing = raised.type_name in ("ImportError", "ModuleNotFoundError", "NameError")
    if not is_use_of_none and not (is_missing and _MISSING.search(raised.message)):
        return None
    return _unsupported(int(frame["line"]) if frame else None, raised.traceback)


def _unsupported(line: int | None, details: str) -> SolutionFailed:
    where = "" if line is None else f" at line {line}"
    next_step = "install Triton, whose interpreter runs kernels on the CPU (pip install triton), or evaluate on a GPU"
    return SolutionFailed(Verdict.UNSUPPORTED, f"Triton{where}", details, next_step)
