"""A solution that says on which GPUs it runs, on another one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from harness.builder.build import BuildOutcome
from harness.model.environment import BackendName
from harness.model.evaluation import Evaluation
from harness.model.verdict import Verdict
from harness.sandbox.outcome import SolutionFailed
from tests.examples import environment
from tests.referee.recorded import recorded
from tests.wording import tells


def evaluated(root: Path, compute_capability: str) -> Evaluation:
    """On a GPU of this compute capability, for which it doesn't compile."""
    built = BuildOutcome((), SolutionFailed(Verdict.COMPILE_ERROR, "wgmma needs sm_90a"), 1.0)
    where = environment(gpu="a GPU", compute_capability=compute_capability)
    return recorded(root, None, where, built, files={"solution.yaml": 'compute_capability: "9.0"'})


@pytest.mark.parametrize("compute_capability", ["8.0", "10.0"])
def test_it_is_unsupported_as_expected(tmp_path: Path, compute_capability: str) -> None:
    found = evaluated(tmp_path, compute_capability)
    assert found.failure is not None
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.UNSUPPORTED, Verdict.UNSUPPORTED)
    assert tells(found.failure.reason, "9.0", "solution.yaml", "a GPU", compute_capability)
    assert "such a GPU" in found.failure.next_step


@pytest.mark.parametrize("backend", ["cuda", "sim"])
def test_kernels_for_amds_gpus_are_unsupported_elsewhere(tmp_path: Path, backend: BackendName) -> None:
    built = BuildOutcome((), SolutionFailed(Verdict.COMPILE_ERROR, "hip/hip_runtime.h: No such file"), 1.0)
    files = {"solution.py": "SOURCE = '#include <hip/hip_runtime.h>'\nclass ModelNew: ..."}
    found = recorded(tmp_path, None, environment(backend=backend), built, files=files)
    assert found.failure is not None
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.UNSUPPORTED, Verdict.UNSUPPORTED)
    assert tells(found.failure.reason, "HIP")
    assert tells(found.failure.next_step, "ROCm")


def test_where_torch_is_built_for_them_they_are_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.4")
    built = BuildOutcome((), SolutionFailed(Verdict.COMPILE_ERROR, "a bracket is missing"), 1.0)
    files = {"solution.py": "SOURCE = '#include <hip/hip_runtime.h>'\nclass ModelNew: ..."}
    found = recorded(tmp_path, None, environment(), built, files=files)
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.COMPILE_ERROR, Verdict.PASSED)


def test_where_it_says_that_it_runs_it_is_judged(tmp_path: Path) -> None:
    found = evaluated(tmp_path, "9.0")
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.COMPILE_ERROR, Verdict.PASSED)
