"""The verdict on what Triton's compiler refuses."""

from __future__ import annotations

import re

from harness.builder.compiler_log import first_line
from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed
from harness.sandbox.wire.messages import Raised

_TRITONS_REFUSALS = {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "PTXASError"}
DOESNT_COMPILE = "a Triton kernel doesn't compile"
_PASS_FAILED = "PassManager::run failed"
_REFUSED = re.compile(
    r"^triton\.compiler\.errors\.\w+: at \d+:\d+:\n(?P<code>(?:.*\n)*?) *\^\n(?P<what>.*\S.*)", re.MULTILINE
)
"""Triton's words on what it doesn't compile: the lines up to the place, and the reason."""


def refused_by_triton(raised: Raised) -> SolutionFailed | None:
    """Return the failure for an exception of Triton's compiler, else None."""
    if raised.type_name not in _TRITONS_REFUSALS and raised.message != _PASS_FAILED:
        return None
    told = _REFUSED.search(raised.traceback)  # the innermost comes first
    what = f"{told['what']}, at: {told['code'].splitlines()[-1].strip()}" if told else first_line(raised.message)
    return SolutionFailed(Verdict.COMPILE_ERROR, f"{DOESNT_COMPILE}: {what}", raised.traceback)
