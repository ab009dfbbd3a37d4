"""The languages of kernels are found in the files."""

from __future__ import annotations

import pytest

from harness.model.languages import languages_in


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"solution.py": 'CUDA = """\n__global__ void f() {}\n"""'}, ("CUDA",)),
        ({"solution.py": "import torch", "k.cu": "__global__ void f() {}"}, ("CUDA",)),
        ({"solution.py": "import triton\nimport triton.language as tl"}, ("Triton",)),
        (
            {"solution.py": "try:\n    from triton import jit\nexcept ImportError: pass\nK = '__global__ f'"},
            ("CUDA", "Triton"),
        ),
        ({"solution.py": "import tilelang.language as T"}, ("TileLang",)),
        ({"solution.py": "import cutlass.cute as cute"}, ("CuTe DSL",)),
        ({"solution.py": "import torch  # no triton, no tritonclient\nimport tritonclient"}, ()),
        ({"solution.py": "import torch", "NOTES.md": "__global__", "solution.yaml": "explanation: __global__"}, ()),
        ({"k.hip": "#include <hip/hip_runtime.h>\n__global__ void f() {}"}, ("HIP",)),
        ({"solution.py": "SOURCE = '__global__ void f() {}  // as by hipLaunchKernelGGL'"}, ("CUDA",)),
        (
            {"k.cu": "#ifdef __HIP_PLATFORM_AMD__\n#include <hip/hip_runtime.h>\n#endif\n__global__ void f() {}"},
            ("CUDA",),
        ),
        ({"k.hip": "#include <hip/hip_runtime.h>\n# if CUDA were here, this would be another text"}, ("HIP",)),
        ({}, ()),
    ],
)
def test_what_the_texts_show(files: dict[str, str], found: tuple[str, ...]) -> None:
    assert languages_in(files) == found
