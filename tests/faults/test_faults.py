"""Every known way of failing gets its verdict, and the run goes on with the next solution.

The folder is a workspace: solutions/double/<fault>/ with the verdict that its solution.yaml expects. Honest
look-alikes stand beside the faults.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.records.evaluation import Evaluation
from harness.workspace.workspace import Workspace
from tests.evaluations import evaluate_all

HERE = Path(__file__).parent
NAMES = Workspace(HERE).solution_names("double")
NEVER_ANSWER = ("endless_kernel", "hangs", "trickles")
BACKENDS = [pytest.param("sim", marks=pytest.mark.sim), pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module")
def evaluations(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Evaluation]:
    results = tmp_path_factory.mktemp("results")
    patient = [name for name in NAMES if name not in NEVER_ANSWER]
    return {
        **evaluate_all(HERE, "double", results, request.param, solutions=patient, config="patient"),
        **evaluate_all(HERE, "double", results, request.param, solutions=NEVER_ANSWER, config="impatient"),
    }


@pytest.mark.parametrize("evaluations", BACKENDS, indirect=True, scope="module")
@pytest.mark.parametrize("name", NAMES)
def test_solution_gets_the_verdict_it_expects(evaluations: dict[str, Evaluation], name: str) -> None:
    evaluation = evaluations[name]
    assert evaluation.verdict is evaluation.solution.expected_verdict, evaluation.failure
    assert evaluation.verdict.passed or (evaluation.failure and evaluation.failure.next_step)


@pytest.mark.parametrize("evaluations", BACKENDS, indirect=True, scope="module")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wrong_shape", "got 64×999, want 64×1000"),
        ("wrong_dtype", "got float64, want float32"),
        ("wrong_values", "1 of 64,000 values"),
        ("segfault", "SIGSEGV"),
        ("exits_quietly", "exit code 0"),
        ("raises_in_forward", "columns must be a multiple of 32"),
        ("no_model_new", "no class 'ModelNew'"),
        ("partial_write", "first at [63, 744]"),
        ("host_memory_grab", "4.0 GiB of host memory"),
        ("forged_reply", "nonce"),
    ],
)
def test_reason_names_what_happened(evaluations: dict[str, Evaluation], name: str, words: str) -> None:
    failure = evaluations[name].failure
    assert failure is not None
    assert words in failure.reason
