"""The work of torch.compile() in this process, by the counters that torch keeps of it."""

from __future__ import annotations

import sys
from typing import Any

from harness.sandbox.wire.messages import Compilation

_FRAMES = "frames"
"""The counter of every function that the compiler looks at: where even this is missing torch counts elsewhere."""


def compilation() -> Compilation | None:
    """Read torch's counters; return None where the compiler isn't even imported. A count is None where this torch
    doesn't keep it under the name that it has in 2.11 and 2.13."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return None
    counters = getattr(utils, "counters", {})
    compiles = getattr(sys.modules.get("torch._dynamo.convert_frame"), "FRAME_COMPILE_COUNTER", None)
    is_counted = _FRAMES in counters
    return Compilation(
        graphs=counters.get("stats", {}).get("unique_graphs", 0) if is_counted else None,
        graph_breaks=sum(counters.get("graph_break", {}).values()) if is_counted else None,
        recompilations=sum(compiles.values()) - len(compiles) if compiles else None,  # by function; the first is none
    )
