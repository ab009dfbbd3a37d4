"""A solution that says on which GPUs it runs, on another one."""

from __future__ import annotations

from pathlib import Path

import pytest

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
@pytest.mark.parametrize(
    ("source", "expected"), [("#include <hip/hip_runtime.h>", Verdict.UNSUPPORTED), ("// hip", Verdict.PASSED)]
)
def test_what_the_compiler_of_amds_gpus_alone_takes_is_expected_to_be_unsupported(
    tmp_path: Path, backend: BackendName, source: str, expected: Verdict
) -> None:
    """That it is, is the word of a worker's log; the files must show it."""
    built = BuildOutcome((), SolutionFailed(Verdict.UNSUPPORTED, "its kernels are in HIP"), 1.0)
    files = {"solution.py": f"SOURCE = '{source}'\nclass ModelNew: ..."}
    found = recorded(tmp_path, None, environment(backend=backend), built, files=files)
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.UNSUPPORTED, expected)


def test_where_it_says_that_it_runs_it_is_judged(tmp_path: Path) -> None:
    found = evaluated(tmp_path, "9.0")
    assert (found.verdict, found.solution.expected_verdict) == (Verdict.COMPILE_ERROR, Verdict.PASSED)
