"""A CUDA toolkit for the CPU: headers, a runtime and stand-ins for nvcc and c++. It knows no problem and no referee.

Everything that others may use is named here; the rest is this package's own. A name is imported when it is first used:
the stand-ins, which start for each file of a build, load only what compiling takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.face import lazy

if TYPE_CHECKING:
    from harness.cudasim.compiler import SimUnavailable, find_compiler, find_torch, untried_python
    from harness.cudasim.cuda_in_files import beyond_simulator, cuda_texts
    from harness.cudasim.diagnose import diagnose_build_log
    from harness.cudasim.loaded import Runtime, load_runtime
    from harness.cudasim.source_lines import (
        SourceLine,
        feeds_an_index,
        is_row_of_shared_array,
        source_line,
        with_names,
    )
    from harness.cudasim.toolkit import Toolkit, ensure_toolkit, is_prepared
    from harness.cudasim.unsupported import UNSUPPORTED_MARK
else:  # a type checker that saw it would let every name pass
    __getattr__, __dir__ = lazy(__name__, __file__)
