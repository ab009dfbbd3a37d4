"""Convolutions for every dtype compute in the one that they are given; outputs are held to that dtype's tolerance."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.environment import BackendName
from tests.evaluations import UNTIMED, evaluate_all
from tests.files import laid
from tests.machine import ROOT

SHAPES = """
batch_size = 2
in_channels = CHANNELS
out_channels = CHANNELS + 2
kernel_size = (3, 5)
height = 11
width = 13
"""
CONVERTED = """


class NAME(NAME):
    def __init__(self, *args):
        super().__init__(*args)
        self.to(torch.DTYPE)
"""
TOLERANCES = {"float16": 1e-2, "bfloat16": 2e-2, "float64": 1e-8}
FEW, MANY = 4, 64
"""Channels: implicit_gemm and implicit_wgmma take tensor cores for many."""
RUNS = [
    *(pytest.param("sim", "generic", FEW, dtype, marks=pytest.mark.sim) for dtype in TOLERANCES),
    *(pytest.param("cuda", "generic", FEW, dtype, marks=pytest.mark.gpu) for dtype in TOLERANCES),
    *(
        pytest.param("cuda", solution, channels, dtype, marks=pytest.mark.gpu)
        for solution in ("implicit_gemm", "implicit_wgmma")
        for channels in (FEW, MANY)
        for dtype in TOLERANCES
    ),
]


def _workspace(root: Path, solution: str, channels: int, dtype: str) -> None:
    """conv2d_asymmetric in small and in another dtype, with a solution as it stands."""
    convert = CONVERTED.replace("DTYPE", dtype)
    reference = (ROOT / "problems" / "conv2d_asymmetric" / "problem.py").read_text().partition("class Model")[2]
    model = reference.partition("\n\n\n")[0]
    problem = (
        f"import torch\nimport torch.nn as nn\n{SHAPES.replace('CHANNELS', str(channels))}\n\n"
        f"class Model{model}{convert.replace('NAME', 'Model')}\n\n"
        f"def get_inputs():\n    return [torch.rand(batch_size, in_channels, height, width, dtype=torch.{dtype})]\n\n\n"
        "def get_init_inputs():\n    return [in_channels, out_channels, kernel_size, (1, 2), (1, 2), 1, 2, True]\n"
    )
    source = (ROOT / "solutions" / "conv2d_asymmetric" / solution / "solution.py").read_text()
    source += convert.replace("NAME", "ModelNew")
    laid(root, {"problems/convolution/problem.py": problem, f"solutions/convolution/{solution}/solution.py": source})


@pytest.mark.parametrize(("backend", "solution", "channels", "dtype"), RUNS)
def test_convolution_passes_in_other_dtypes(
    backend: BackendName, solution: str, channels: int, dtype: str, tmp_path: Path
) -> None:
    _workspace(tmp_path, solution, channels, dtype)
    evaluation = evaluate_all(tmp_path, "convolution", tmp_path / "results", backend, config=UNTIMED)[solution]
    assert evaluation.verdict.passed, evaluation.failure
    assert evaluation.weights == "reference_state"
    (output,) = evaluation.checks[0].outputs
    assert output.dtype == dtype
    assert output.tolerance.rtol == TOLERANCES[dtype]
