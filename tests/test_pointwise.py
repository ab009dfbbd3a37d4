"""Convolutions of one tap, which generic solutions compute otherwise: whole and broken tiles, groups, odd planes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.evaluations import evaluate_all
from tests.machine import ROOT

PROBLEM = "conv2d_asymmetric"


def _case(batch: int, channels: int, height: int, width: int, *parameters: Any) -> dict[str, Any]:
    """`parameters`: channels out, kernel, stride, padding, dilation, groups, bias."""
    constants = {"batch_size": batch, "in_channels": channels, "height": height, "width": width}
    return {"constants": constants, "init_inputs": [channels, *parameters]}


CASES = {
    "several_tiles_bias": _case(2, 20, 14, 14, 200, [1, 1], 1, 0, 1, 1, True),
    "groups": _case(2, 48, 4, 36, 260, [1, 1], 1, 0, 1, 2, True),
    "one_packet": _case(3, 8, 10, 26, 70, [1, 1]),
    "three_stages": _case(1, 40, 6, 6, 64, [1, 1]),
    "more_stages_than_buffers": _case(1, 136, 6, 6, 130, [1, 1], 1, 0, 1, 1, True),
    "four_pixels": _case(1, 52, 2, 2, 64, [1, 1]),
    "odd_plane": _case(2, 32, 7, 9, 64, [1, 1], 1, 0, 1, 1, True),
    "even_plane": _case(2, 32, 6, 7, 64, [1, 1]),
    "depthwise": _case(2, 16, 8, 8, 16, [1, 1], 1, 0, 1, 16),
    "strided": _case(2, 32, 9, 8, 64, [1, 1], [5, 2]),
    "one_row_of_several": _case(2, 32, 3, 8, 64, [1, 1], [7, 1]),
    "padded": _case(2, 32, 6, 8, 64, [1, 1], 1, [1, 0]),
    "whole_tiles": _case(2, 32, 8, 32, 128, [1, 1]),  # the last one is traced
}


@pytest.mark.gpu
@pytest.mark.parametrize("solution", ["implicit_gemm", "implicit_wgmma"])
def test_one_tap_is_right_at_all_sizes(solution: str, tmp_path: Path) -> None:
    for kind, name in (("problems", ""), ("solutions", solution)):
        shutil.copytree(ROOT / kind / PROBLEM / name, tmp_path / kind / PROBLEM / name)
    about = tmp_path / "problems" / PROBLEM / "problem.yaml"
    about.write_text(yaml.safe_dump({**yaml.safe_load(about.read_text()), "cases": CASES}, sort_keys=False))
    config = tmp_path / "untimed.yaml"
    config.write_text("correctness: {seeds: 1}\ntiming: {enabled: false}\n")
    (found,) = evaluate_all(
        tmp_path, PROBLEM, tmp_path / "results", "cuda", cases=tuple(CASES), config=str(config)
    ).values()
    assert found.verdict.passed, found.failure
    assert {check.case for check in found.checks} >= set(CASES)
    assert found.trace is not None
    assert found.trace.case == "whole_tiles"
    assert any("pointwise_gemm" in kernel.name for kernel in found.trace.kernels)
