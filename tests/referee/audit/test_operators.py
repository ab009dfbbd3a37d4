"""torch's operators by what they do, and what the reference gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.trace import Trace
from harness.referee.audit.kernels import Origins, summarize
from harness.referee.audit.operators import class_of, operators_of_reference, took_all_of
from harness.referee.setting import prepare_setting
from harness.sandbox.wire.device import KernelRun
from harness.workspace.problem import load_problem
from tests.machine import ROOT
from tests.referee.inputs.test_variants import made


@pytest.mark.parametrize(
    ("kind", "operators"),
    [
        ("matrix product", ["mm", "bmm", "addmm", "baddbmm_", "matmul", "mv", "dot", "einsum", "linear", "_scaled_mm"]),
        ("convolution", ["convolution", "conv2d", "_convolution", "mkldnn_convolution", "thnn_conv2d", "conv_tbc"]),
        ("attention", ["scaled_dot_product_attention", "_flash_attention_forward"]),
        ("pooling", ["max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d", "mkldnn_max_pool2d"]),
        ("normalization", ["native_layer_norm", "native_batch_norm", "_fused_rms_norm"]),
        ("softmax", ["_softmax", "log_softmax"]),
        ("sum", ["sum", "mean", "var_mean", "linalg_vector_norm"]),
        ("extremum", ["max", "amin", "argmax", "aminmax"]),
        ("all", ["all"]),  # so the host looks at its input before it chooses a kernel
        ("scan", ["cumsum", "logcumsumexp"]),
        ("pointwise", ["mul", "add_", "sigmoid", "gelu", "where", "square"]),
        ("sort", ["sort"]),
    ],
)
def test_what_does_the_same_work_is_of_one_class(kind: str, operators: list[str]) -> None:
    assert {class_of(f"aten::{name}") for name in operators} == {kind}


@pytest.mark.parametrize(
    ("problem", "name", "elements"),
    [("matmul", "aten::mm", 64 * 128 + 128 * 48), ("row_sum", "aten::sum", 16 * 2048)],
)
def test_the_reference_tells_what_its_operators_are_given(problem: str, name: str, elements: int) -> None:
    found = reference_of(problem)
    assert found is not None
    assert [(kernel.name, kernel.origin, kernel.elements) for kernel in found.kernels] == [
        (name, "framework", elements)
    ]


def test_of_a_reference_that_works_element_by_element_alone_nothing_is_said() -> None:
    assert reference_of("double") is None


def test_a_list_of_tensors_counts_and_a_complex_number_is_two(tmp_path: Path) -> None:
    forward = "torch.view_as_real(torch.stack([x, x]).to(torch.complex64).sum(0)).sum()"
    found = operators_of_reference(made(tmp_path, forward, "torch.rand(5, 4)"))
    assert found is not None
    elements = {kernel.name: (kernel.launches, kernel.elements) for kernel in found.kernels}
    assert elements["aten::stack"] == (1, 40)
    assert elements["aten::sum"] == (2, 2 * 40 + 2 * 20)


def test_the_scale_of_a_normalization_stands_for_no_other_operator(tmp_path: Path) -> None:
    """The simulator's device scales after a layer norm by addcmul; a GELU of the solution's own is still a part."""
    gelu, given = "nn.functional.gelu(self.norm(x))", "torch.rand(16, 64)"
    reference = operators_of_reference(made(tmp_path, gelu, given, init="self.norm = nn.LayerNorm(64)"))
    assert reference is not None
    norm = [("aten::native_batch_norm", 1024), ("aten::addcmul", 1024 + 2 * 64)]
    assert not took_all_of(ran(*norm), reference)
    assert took_all_of(ran(*norm, ("aten::gelu", 1024)), reference)


def ran(*operators: tuple[str, int]) -> Trace:
    rows = [KernelRun(name, 0, 0, 0, "kernel", elements=elements) for name, elements in operators]
    return summarize("full", 1, rows, Origins())


def reference_of(problem: str) -> Trace | None:
    folder = ROOT / "tests" / "cheats" / "problems" / problem
    return operators_of_reference(prepare_setting(load_problem(folder), "small", 7, "cpu"))
