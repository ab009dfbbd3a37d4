"""The least that a call must move and compute."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.records.evaluation import Work
from harness.referee import work as work_module
from harness.referee.work import work_of
from tests.referee.test_reference import setting

CONV = (
    "rows = 2\n\ndef get_inputs():\n    return [torch.rand(rows, 3, 8, 8)]\n\ndef get_init_inputs():\n    return []\n"
)


def test_a_convolution_moves_each_tensor_once_and_counts_two_for_a_multiply_add(tmp_path: Path) -> None:
    made = setting(tmp_path, "return self.conv(x)", CONV, init="self.conv = nn.Conv2d(3, 4, 3, bias=False)")
    assert work_of(made, tmp_path) == Work(4 * (2 * 3 * 64 + 4 * 3 * 9 + 2 * 4 * 36), 2 * 2 * 4 * 36 * 3 * 9)


def test_what_multiplies_no_matrices_counts_no_operations(tmp_path: Path) -> None:
    assert work_of(setting(tmp_path, "return x.abs()"), tmp_path) == Work(4 * 2 * 24, None)


def test_views_of_one_tensor_are_read_once(tmp_path: Path) -> None:
    tail = "def get_inputs():\n    x = torch.rand(6, 4)\n    return [x, x.t(), x.expand(5, 6, 4)]\n"
    tail += "\ndef get_init_inputs():\n    return []\n"
    assert work_of(setting(tmp_path, "return x + 1", tail), tmp_path) == Work(4 * (24 + 24), None)


def test_of_a_large_tensor_only_the_slice_given_is_read(tmp_path: Path) -> None:
    tail = "def get_inputs():\n    return [torch.rand(100, 4)[:6]]\n\ndef get_init_inputs():\n    return []\n"
    assert work_of(setting(tmp_path, "return x + 1", tail), tmp_path) == Work(4 * (24 + 24), None)


def test_every_output_and_dtype_counts(tmp_path: Path) -> None:
    assert work_of(setting(tmp_path, "return x.double(), x.argmax(1)"), tmp_path) == Work(96 + 192 + 48, None)


def test_a_model_that_needs_a_device_has_bytes_but_no_operations(tmp_path: Path) -> None:
    made = setting(tmp_path, "return x @ x.t() if float(x.sum()) > -1e9 else x")
    assert work_of(made, tmp_path) == Work(4 * (24 + 36), None)


def test_a_problem_is_counted_once_until_it_is_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    count = work_module._count
    monkeypatch.setattr(work_module, "_count", lambda made: counted.append(made.case) or count(made))
    made = setting(tmp_path, "return x + 1")
    assert [work_of(made, tmp_path / "cache") for _ in range(3)] == [Work(192, None)] * 3
    assert counted == ["full"]
    with (tmp_path / "made_up" / "problem.py").open("a") as file:
        file.write("\n# edited")
    work_of(made, tmp_path / "cache")
    assert counted == ["full", "full"]


@pytest.mark.parametrize("content", ["", "[]", '{"least_bytes": "many"}', "\x00"])
def test_a_spoilt_count_is_counted_anew(tmp_path: Path, content: str) -> None:
    made = setting(tmp_path, "return x + 1")
    work_of(made, tmp_path)
    (path,) = (tmp_path / "work").iterdir()
    path.write_text(content)
    assert work_of(made, tmp_path) == Work(192, None)


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert work_of(setting(tmp_path, "return x + 1"), tmp_path / "file") == Work(192, None)
