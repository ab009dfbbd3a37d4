"""What the stand-in for nvcc leaves behind for the real one, or in its place."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from harness.cudasim.host_calls import HOST_CALL_MARK, host_calls

CALL_SUFFIX = ".nvcc-call.json"
"""As protocol.layout.NVCC_CALL, which a backend doesn't import."""
_FLAG_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


def note_call(arguments: list[str]) -> None:
    """Write down what the real nvcc would be asked, for a machine that has one: in the build's folder, also where we
    can't simulate it or don't know an option. And say what nvcc would surely refuse, for one that hasn't.

    Nothing where no source can be read.
    """
    source = next((argument for argument in reversed(arguments) if _is_source(argument)), None)
    try:
        text = Path(source).read_text(errors="replace") if source else ""
    except OSError:
        return
    if not source or not text:
        return
    name = hashlib.sha256(source.encode()).hexdigest()[:16]
    Path(f"{name}{CALL_SUFFIX}").write_text(json.dumps({"arguments": arguments, "source": source, "text": text}))
    for line, what in host_calls(text, [*arguments, *(os.environ.get(name, "") for name in _FLAG_VARIABLES)]):
        print(f"{HOST_CALL_MARK} {Path(source).name}:{line}: {what}", file=sys.stderr)


def _is_source(argument: str) -> bool:
    return argument.endswith(".cu") and not argument.startswith("-")
