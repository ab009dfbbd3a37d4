"""Convolutions of one tap, which generic solutions compute otherwise: whole and broken tiles, groups, odd planes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evaluations import UNTIMED, evaluate_all
from tests.scripts import script

other_shapes: Any = script("other_shapes")


def _shape(batch: int, channels: int, height: int, width: int, *parameters: Any) -> tuple[dict[str, int], list[Any]]:
    """`parameters`: channels out, kernel, stride, padding, dilation, groups, bias."""
    constants = {"batch_size": batch, "in_channels": channels, "height": height, "width": width}
    return constants, [channels, *parameters]


SHAPES = {
    "several_tiles_bias": _shape(2, 20, 14, 14, 200, [1, 1], 1, 0, 1, 1, True),
    "groups": _shape(2, 48, 4, 36, 260, [1, 1], 1, 0, 1, 2, True),
    "one_packet": _shape(3, 8, 10, 26, 70, [1, 1]),
    "three_stages": _shape(1, 40, 6, 6, 64, [1, 1]),
    "more_stages_than_buffers": _shape(1, 136, 6, 6, 130, [1, 1], 1, 0, 1, 1, True),
    "four_pixels": _shape(1, 52, 2, 2, 64, [1, 1]),
    "odd_plane": _shape(2, 32, 7, 9, 64, [1, 1], 1, 0, 1, 1, True),
    "even_plane": _shape(2, 32, 6, 7, 64, [1, 1]),
    "depthwise": _shape(2, 16, 8, 8, 16, [1, 1], 1, 0, 1, 16),
    "strided": _shape(2, 32, 9, 8, 64, [1, 1], [5, 2]),
    "one_row_of_several": _shape(2, 32, 3, 8, 64, [1, 1], [7, 1]),
    "padded": _shape(2, 32, 6, 8, 64, [1, 1], 1, [1, 0]),
    "whole_tiles": _shape(2, 32, 8, 32, 128, [1, 1]),  # the last one is traced
}


@pytest.mark.gpu
@pytest.mark.parametrize("solution", other_shapes.GENERIC)
def test_one_tap_is_right_at_all_sizes(solution: str, tmp_path: Path) -> None:
    other_shapes.make_workspace(tmp_path, [solution], SHAPES)
    problem, results = other_shapes.PROBLEM, tmp_path / "results"
    found = evaluate_all(tmp_path, problem, results, "cuda", cases=tuple(SHAPES), config=UNTIMED)[solution]
    assert found.verdict.passed, found.failure
    assert {check.case for check in found.checks} >= set(SHAPES)
    assert found.trace is not None
    assert found.trace.case == "whole_tiles"
    assert any("pointwise_gemm" in kernel.name for kernel in found.trace.kernels)
