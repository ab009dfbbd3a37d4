"""One build for all cases of the corpus whose extension is the same text.

The harness keeps builds apart by solution, so that none can poison another's. The corpus would compile one kernel fifty
times; instead its first build is laid into the other solutions' namespaces, as if each had been evaluated before.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence

from harness.builder.workers import seen_files
from harness.model.record import hash_contents
from harness.run.cache import cache_folder
from harness.sandbox.wire.layout import extensions_folder, is_key
from harness.workspace.solution import Solution

_EXTENSION = re.compile(r'^\w+ = r?"""(?:(?!""").)*?__global__.*?"""|load_inline\(.*?^\)', re.DOTALL | re.MULTILINE)


def extension_of(solution: Solution) -> str | None:
    """The CUDA text and the call that builds it; None where there is none to be seen."""
    return "\n".join(_EXTENSION.findall(solution.source_path.read_text())) or None


def share_builds(backend: str, built: Solution, others: Sequence[Solution]) -> None:
    """Keep for `others` what is kept for a solution that has been evaluated."""
    kept = extensions_folder(cache_folder(), backend)
    for other in others:
        for build in (kept / _namespace(built)).glob("*"):
            target = kept / _namespace(other) / build.name
            if is_key(build.name) and not target.exists():
                shutil.copytree(build, target)


def _namespace(solution: Solution) -> str:
    return hash_contents(seen_files(solution.folder).items())
