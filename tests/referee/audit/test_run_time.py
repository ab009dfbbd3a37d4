"""Names of kernels that torch compiles at run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.referee.audit.run_time import Written, is_compiled_by_torch, triton_kernels
from tests.files import laid

TRITON = """
import triton

@triton.jit
def _outer_product_kernel(
    A_ptr,
): ...

if True:
    @triton.autotune(configs=[])
    @triton.jit(do_not_specialize=["n"])
    # a note
    @marked
    def _rowspace_kernel(n): ...

def launch(): ...
"""


def test_names_are_read_from_the_folders_that_have_triton_kernels(tmp_path: Path) -> None:
    sparse = TRITON.replace("_kernel", "_sparse")
    laid(tmp_path, {"_native/ops/bmm.py": TRITON, "sparse/ops.py": sparse, "nn/other.py": TRITON})
    assert triton_kernels(tmp_path) == {
        *("_outer_product_kernel", "_rowspace_kernel"),
        *("_outer_product_sparse", "_rowspace_sparse"),
    }


def test_a_torch_without_such_folders_names_none(tmp_path: Path) -> None:
    assert triton_kernels(tmp_path) == frozenset()


@pytest.mark.parametrize(
    "name",
    [
        *("_sampled_addmm_kernel", "fused_mul_add", "fused_mul_add_1", "fused__softmax_relu"),
        *("chebyshev_polynomial_u_forward_vectorized4_kernel", "sinc_kernel", "sinc_vectorized2_kernel"),
        *("reduction_prod_kernel", "gcd_vectorized4_kernel"),
    ],
)
def test_torchs_are_known(name: str) -> None:
    assert is_compiled_by_torch(name)


@pytest.mark.parametrize(
    "name",
    [
        "kernel",
        "add_kernel",
        "fused_attention",
        "fused_kernel",
        "fused_",
        "fused_bias_gelu",
        "reduction_rows_kernel",
        "scale_vectorized4_kernel",
        "max_pool_kernel",
        "fused" + "_add" * 999 + "_x",
    ],
)
def test_other_names_are_nobodys(name: str) -> None:
    assert not is_compiled_by_torch(name)


@pytest.mark.parametrize(
    ("text", "is_defined"),
    [
        ("@triton.jit\ndef fused_mul_add(x, n): ...", True),
        ('extern "C" __global__ void fused_mul_add(float* x) {}', True),
        ("__global__ void __launch_bounds__(256, 2) fused_mul_add(float* x) {}", True),
        ("fused_mul_add(x)", False),
        ("def fused_mul_add_2(x): ...", False),
    ],
)
def test_a_solution_defines_what_stands_as_a_function_in_its_text(text: str, is_defined: bool) -> None:
    assert Written(texts={"notes.md": "", "solution.py": text}).defines("fused_mul_add") == is_defined
