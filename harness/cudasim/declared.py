"""main.cpp as torch generates it for declared functions, bound without pybind11.

pybind11's headers make any file that includes them take six seconds of a core, precompiled or not: the templates that
they use are instantiated anew in each.
"""

from __future__ import annotations

import re

_GENERATED = re.compile(
    r"PYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\) \{\n"
    r'(m\.def\("(?P<name>\w+)", torch::wrap_pybind_function\((?P=name)\), "[^"\\\n]*"\);\n)+\}\s*\Z'
)
# What follows is compiled after the CUDA headers, which torch's own build of this file doesn't have: so nothing but
# declarations, and no name that those may have brought.
_ONLY_HERE = re.compile(
    r"[{}]|\b(cuda|CUDA|cu[A-Z]|__|dim3|half|nv_|u?(char|short|int|long|longlong|float|double)[1-4]\b|(thread|block|grid)"
    r"(Idx|Dim)|warpSize)|pybind11|\bpy::|\bPy"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def bound_slimly(source: str) -> str | None:
    """None where the file holds more than declarations and what load_inline() generates for them."""
    generated = _GENERATED.search(source)
    if generated is None:
        return None
    declarations = source[: generated.start()]
    if _ONLY_HERE.search(_COMMENT.sub("", declarations)):
        return None
    return f"{declarations}\n#include <harness/binding.h>\n{generated[0]}"
