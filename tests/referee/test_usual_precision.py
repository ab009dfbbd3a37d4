"""The precision of a problem that declares none: that of most of what goes in and comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.problem_text import problem_text
from tests.referee.in_process import setting_of

HALF = "torch.randn(4, 8).bfloat16()"


@pytest.mark.parametrize(
    ("inputs", "forward", "yaml", "expected"),
    [
        ("torch.randn(4, 8)", "given[0] * 2", "", "float32"),
        (HALF, "given[0] * 2", "", "bfloat16"),
        (f"{HALF}, {HALF}, torch.rand(4, 8)", "given[0] * given[1]", "", "bfloat16"),
        ("torch.randn(4, 8), torch.ones(4, 1).half()", "given[0] * given[1]", "", "float32"),
        ("torch.randn(4, 64).to(torch.float8_e4m3fn)", "given[0].bfloat16()[:, :1]", "", "bfloat16"),
        ("torch.arange(8)", "given[0] + 1", "", "float32"),
        ("torch.randn(4, 8).double(), torch.ones(1)", "given[0] * 2", "", "float64"),
        (HALF, "given[0] * 2", "precision: float32", "float32"),
    ],
)
def test_most_elements_decide_where_nothing_is_declared(
    tmp_path: Path, inputs: str, forward: str, yaml: str, expected: str
) -> None:
    assert setting_of(tmp_path, problem_text(forward, inputs, given="*given"), yaml).precision == expected
