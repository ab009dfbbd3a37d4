"""The least that a call must move and compute."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import flop_registry

from harness.model.evaluation import Work
from harness.referee.answers.invalid_problem import InvalidProblem
from harness.referee.ceilings import work as work_module
from harness.referee.ceilings.work import NO_OPERATIONS, is_computed_in, operations_of_run, work_of
from harness.referee.setting import Setting, prepare_setting
from harness.workspace.problem import Case
from tests.referee.answers.test_reference import problem, setting

CONVOLUTION = "return self.conv(x)", "torch.rand(rows, 3, 8, 8)", "self.conv = nn.Conv2d(3, 4, 3, bias=False)"


def test_a_convolution_moves_each_tensor_once_and_counts_two_for_a_multiply_add(tmp_path: Path) -> None:
    made = setting(
        tmp_path, "return self.conv(x)", "torch.rand(rows, 3, 8, 8)", "self.conv = nn.Conv2d(3, 4, 3, bias=False)"
    )
    operations = 2 * 6 * 4 * 36 * 3 * 9
    bytes_read, bytes_written = 4 * (6 * 3 * 64 + 4 * 3 * 9), 4 * 6 * 4 * 36
    assert work_of(made) == Work(bytes_read + bytes_written, operations, bytes_written, convolutions=operations)


def test_products_are_told_from_convolutions(tmp_path: Path) -> None:
    work = work_of(setting(tmp_path, "return x @ x.t()"))
    assert work is not None
    assert (work.operations, work.convolutions) == (2 * 6 * 6 * 4, 0)


def test_a_training_step_has_two_parts(tmp_path: Path) -> None:
    """Forward reads input and weight, and writes the output; backward reads the cotangent, and writes two gradients."""
    layer = "self.layer = nn.Linear(4, 8, bias=False)"
    made = setting(tmp_path, "return self.layer(x)", "torch.rand(rows, 4)", layer, yaml="backward: true\n")
    work = work_of(made)
    x, weight, y = 6 * 4, 4 * 8, 6 * 8
    product = 2 * 6 * 4 * 8
    assert work is not None
    assert work.forward == Work(4 * (x + weight + y), product, 4 * y, convolutions=0)
    assert work.backward == Work(4 * (y + x + weight), 2 * product)
    assert (work.least_bytes, work.operations) == (8 * (x + weight + y), 3 * product)


def test_what_multiplies_no_matrices_counts_no_operations(tmp_path: Path) -> None:
    assert work_of(setting(tmp_path, "return x.abs()")) == Work(4 * 2 * 24, None, 4 * 24)


@pytest.mark.parametrize(
    ("forward", "flags", "precision", "expected"),
    [
        ("return x @ x.t()", {"matmul_allow_tf32": False, "cudnn_allow_tf32": True}, "float32", True),
        ("return x @ x.t()", {"matmul_allow_tf32": False, "cudnn_allow_tf32": True}, "tf32", False),
        ("return x @ x.t()", {"matmul_allow_tf32": True}, "float32", False),
        ("return x @ x.t()", {"matmul_allow_tf32": True}, "tf32", True),
        ("return x @ x.t()", {}, "bfloat16", False),
        ("y = x.bfloat16(); return (y @ y.t()).float()", {}, "bfloat16", True),
        ("y = x.bfloat16(); return (y @ y.t()).float()", {}, "float32", False),
        ("y = x.bfloat16(); return (y @ y.t()).float() @ x", {}, "bfloat16", False),
        ("return x.abs()", {"cudnn_allow_tf32": True, "matmul_allow_tf32": True}, "float32", True),
        ("return x.abs()", {"cudnn_allow_tf32": True, "matmul_allow_tf32": True}, "tf32", True),
        ("return x.abs()", {}, "float16", False),
    ],
)
def test_what_the_reference_computes_in_is_that_of_its_products_else_of_its_tensors(
    tmp_path: Path, forward: str, flags: dict[str, bool], precision: str, expected: bool
) -> None:
    assert is_computed_in(precision, setting(tmp_path, forward), flags) is expected


@pytest.mark.parametrize(("switch", "expected"), [("cudnn_allow_tf32", False), ("matmul_allow_tf32", True)])
def test_convolutions_have_a_switch_of_their_own(tmp_path: Path, switch: str, expected: bool) -> None:
    made = setting(
        tmp_path, "return self.conv(x)", "torch.rand(rows, 3, 8, 8)", "self.conv = nn.Conv2d(3, 4, 3, bias=False)"
    )
    assert is_computed_in("float32", made, {switch: True}) is expected


def test_views_of_one_tensor_are_read_once(tmp_path: Path) -> None:
    views = "*(lambda x: (x, x.t(), x.expand(5, 6, 4)))(torch.rand(6, 4))"
    assert work_of(setting(tmp_path, "return x + 1", views)) == Work(4 * (24 + 24), None, 4 * 24)


def test_of_a_large_tensor_only_the_slice_given_is_read(tmp_path: Path) -> None:
    assert work_of(setting(tmp_path, "return x + 1", "torch.rand(100, 4)[:6]")) == Work(4 * (24 + 24), None, 4 * 24)


def test_every_output_and_dtype_counts(tmp_path: Path) -> None:
    assert work_of(setting(tmp_path, "return x.double(), x.argmax(1)")) == Work(96 + 192 + 48, None, 192 + 48)


def test_a_model_that_needs_a_device_has_bytes_but_no_operations(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x @ x.t() if float(x.sum()) > -1e9 else x")
    assert work_of(made) == Work(4 * (24 + 36), None, 4 * 36)


def test_nothing_to_move_is_no_work(tmp_path: Path) -> None:
    assert work_of(setting(tmp_path, "return x + 1", "torch.rand(0, 4)")) is None


def _fails(*args: object, **kwargs: object) -> int:
    raise AssertionError("no such shape")


def test_an_operator_that_torch_cannot_count_costs_the_count_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(flop_registry, torch.ops.aten.mm, _fails)
    made = setting(tmp_path, "return x @ x.t()")
    assert operations_of_run(made.model, made.reference.make_inputs(0)) == NO_OPERATIONS


def test_without_memory_to_count_in_there_is_no_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = setting(tmp_path, "return x + 1")

    def no_memory(setting: Setting) -> list[torch.Tensor]:
        raise torch.OutOfMemoryError("17 GB")

    monkeypatch.setattr(work_module, "_inputs", no_memory)
    assert work_of(made) is None


def test_what_problem_py_states_replaces_the_count_and_follows_the_case(tmp_path: Path) -> None:
    stated = "least_bytes = 4 * rows * columns\nleast_operations = 2e0 * rows * columns\n"
    made = problem(tmp_path, "return x @ x.t()", more=stated)
    full, small = (prepare_setting(made, case, 42, "cpu") for case in ("full", "small"))
    assert work_of(full) == Work(96, 48, 96)  # of 144 bytes of output no more are written than move
    assert work_of(small) == Work(48, 24, 36)


def test_one_statement_leaves_the_other_to_the_count(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x @ x.t()", more="least_bytes = 1000\n")
    assert work_of(made) == Work(1000, 2 * 6 * 6 * 4, 4 * 36, convolutions=0)


def test_operations_may_be_stated_to_be_none(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x @ x.t()", more="least_operations = 0\n")
    assert work_of(made) == Work(4 * (24 + 36), None, 4 * 36)


def test_a_case_with_init_inputs_of_its_own_is_counted(tmp_path: Path) -> None:
    written = problem(tmp_path, "return x + 1", more="least_bytes = 1000\n", arguments="rows")
    made = dataclasses.replace(written, cases={"odd": Case({}, (3,))})
    assert work_of(prepare_setting(made, "odd", 42, "cpu")) == Work(2 * 4 * 24, None, 4 * 24)


@pytest.mark.parametrize("value", ["-1", "2**63", "float('nan')", "'4 * rows'", "[4]"])
def test_what_is_no_amount_makes_the_problem_invalid(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidProblem, match="least_bytes"):
        setting(tmp_path, "return x", more=f"least_bytes = {value}\n")
