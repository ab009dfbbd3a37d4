"""The generic convolution computes in the dtype it is given; outputs are held to their own dtype's tolerance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluations import QUICK, evaluate_all
from tests.machine import ROOT

SHAPES = """
batch_size = 2
in_channels = 4
out_channels = 6
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
BACKENDS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]


def _workspace(root: Path, dtype: str) -> None:
    """conv2d_asymmetric in small and in another dtype, with the generic solution as it stands."""
    convert = CONVERTED.replace("DTYPE", dtype)
    reference = (ROOT / "problems" / "conv2d_asymmetric" / "problem.py").read_text().partition("class Model")[2]
    model = reference.partition("\n\n\n")[0]
    problem = root / "problems" / "convolution" / "problem.py"
    problem.parent.mkdir(parents=True)
    problem.write_text(
        f"import torch\nimport torch.nn as nn\n{SHAPES}\n\nclass Model{model}{convert.replace('NAME', 'Model')}\n\n"
        f"def get_inputs():\n    return [torch.rand(batch_size, in_channels, height, width, dtype=torch.{dtype})]\n\n\n"
        "def get_init_inputs():\n    return [in_channels, out_channels, kernel_size, (1, 2), (1, 2), 1, 2, True]\n"
    )
    solution = root / "solutions" / "convolution" / "generic" / "solution.py"
    solution.parent.mkdir(parents=True)
    source = (ROOT / "solutions" / "conv2d_asymmetric" / "generic" / "solution.py").read_text()
    solution.write_text(source + convert.replace("NAME", "ModelNew"))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-2), ("float64", 1e-8)])
def test_generic_convolution_passes_in_other_dtypes(backend: str, dtype: str, tolerance: float, tmp_path: Path) -> None:
    _workspace(tmp_path, dtype)
    evaluation = evaluate_all(tmp_path, "convolution", tmp_path / "results", backend, config=QUICK)["generic"]  # type: ignore[arg-type]
    assert evaluation.verdict.passed, evaluation.failure
    assert evaluation.weights == "reference_state"
    (output,) = evaluation.checks[0].outputs
    assert output.dtype == dtype
    assert output.tolerance.atol == tolerance
