"""A solution that changes torch's flags passes, and its record says what it changed."""

from __future__ import annotations

import pytest

import harness
from harness.devices.environment import FLAGS
from harness.workspace.scaffold import TEMPLATE
from tests.wording import tells

RELU = (TEMPLATE / "solutions" / "relu" / "vectorized" / "solution.py").read_text(encoding="utf-8")
CHANGING = RELU.replace(
    "        return extension",
    "        torch.backends.cudnn.benchmark = True\n        return extension",
).replace("class ModelNew", "torch.backends.cuda.enable_flash_sdp(False)\n\n\nclass ModelNew")


@pytest.mark.sim
def test_flags_that_a_solution_changes_are_told_once_for_its_import_and_once_for_later() -> None:
    problem = TEMPLATE / "problems" / "relu"
    with harness.Evaluator(backend="sim") as evaluator:
        changing, honest = evaluator.evaluate_many(problem, [CHANGING, RELU])
    assert (changing.verdict.value, honest.verdict.value) == ("passed", "passed")
    told = [remark for remark in changing.remarks if "flags" in remark]
    on_import, later = told
    assert tells(on_import, "own account", "on import", "flash_sdp on → off")
    assert tells(later, "own account", "after its import", "cudnn_benchmark off → on")
    assert [remark for remark in honest.remarks if "flags" in remark] == []
    assert honest.environment.flags == FLAGS
