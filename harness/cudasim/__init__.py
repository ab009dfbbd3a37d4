"""A CUDA toolkit for the CPU: headers, a runtime and stand-ins for nvcc and c++. It knows no problem and no referee.

Everything that others may use is named here; the rest is this package's own. A name is imported when it is first used:
the stand-ins, which start for each file of a build, load only what compiling takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.cudasim.compiler import SimUnavailable as SimUnavailable
    from harness.cudasim.compiler import find_compiler as find_compiler
    from harness.cudasim.compiler import find_torch as find_torch
    from harness.cudasim.compiler import untried_python as untried_python
    from harness.cudasim.cuda_in_files import beyond_simulator as beyond_simulator
    from harness.cudasim.cuda_in_files import cuda_texts as cuda_texts
    from harness.cudasim.diagnose import diagnose_build_log as diagnose_build_log
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
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
