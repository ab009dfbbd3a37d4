"""A CUDA toolkit for the CPU: headers, a runtime and stand-ins for nvcc and c++. It knows no problem and no referee.

Everything that others may use is named here; the rest is this package's own. A name is imported when it is first used:
the stand-ins, which start for each file of a build, load only what compiling takes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.cudasim.compiler import SimUnavailable as SimUnavailable
    from harness.cudasim.compiler import find_compiler as find_compiler
    from harness.cudasim.compiler import find_torch as find_torch
    from harness.cudasim.compiler import untried_python as untried_python
    from harness.cudasim.cuda_in_files import beyond_simulator as beyond_simulator
    from harness.cudasim.cuda_in_files import cuda_texts as cuda_texts
    from harness.cudasim.diagnose import diagnose_build_log as diagnose_build_log
    from harness.cudasim.host_calls import host_calls_in as host_calls_in
    from harness.cudasim.loaded import Runtime as Runtime
    from harness.cudasim.loaded import load_runtime as load_runtime
    from harness.cudasim.source_lines import Instruction as Instruction
    from harness.cudasim.source_lines import SourceLine as SourceLine
    from harness.cudasim.source_lines import feeds_an_index as feeds_an_index
    from harness.cudasim.source_lines import is_row_of_shared_array as is_row_of_shared_array
    from harness.cudasim.source_lines import source_line as source_line
    from harness.cudasim.toolkit import Toolkit as Toolkit
    from harness.cudasim.toolkit import ensure_toolkit as ensure_toolkit
    from harness.cudasim.toolkit import is_prepared as is_prepared
    from harness.cudasim.unsupported import UNSUPPORTED_MARK as UNSUPPORTED_MARK

_HOMES = {
    "compiler": "SimUnavailable find_compiler find_torch untried_python",
    "toolkit": "Toolkit ensure_toolkit is_prepared",
    "loaded": "Runtime load_runtime",
    "unsupported": "UNSUPPORTED_MARK",
    "cuda_in_files": "beyond_simulator cuda_texts",
    "diagnose": "diagnose_build_log",
    "host_calls": "host_calls_in",
    "source_lines": "Instruction SourceLine feeds_an_index is_row_of_shared_array source_line",
}


if not TYPE_CHECKING:  # a type checker that saw it would let every name pass

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names.split():
                return getattr(importlib.import_module(f"harness.cudasim.{home}"), name)
        raise AttributeError(f"module 'harness.cudasim' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(" ".join(_HOMES.values()).split())
